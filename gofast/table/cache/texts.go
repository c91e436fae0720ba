package cache

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/table"
)

// Text is a column of texts, or of what a tokenizer made of them.
type Text struct {
	Name   string
	Ends   []byte // int64 [texts + 1]: where the values of each text end, behind a 0
	Values []Values
}

// Values are of all texts of a column, one text behind the other. This package does not interpret their name.
type Values struct {
	Name string
	Type table.Type // Invalid: all are 1, and are not stored
	Data []byte
}

// text is a Text in the description.
type text struct {
	Name   string   `json:"name"`
	Values []values `json:"values"`
}

type values struct {
	Name string `json:"name"`
	Type string `json:"type"` // "": all are 1
}

// described is column i in the description, and its arrays.
func (t *Text) described(i int) (in text, arrays []*array) {
	in = text{Name: t.Name, Values: []values{}}
	add := func(name string, kind table.Type, data []byte) {
		rows := int64(len(data) / kind.Size())
		arrays = append(arrays, &array{Name: name, DType: kind.String(), Shape: []int64{rows}, kind: kind, values: data})
	}
	add(fmt.Sprintf("texts_%d_ends", i), table.Int64, t.Ends)
	for j, v := range t.Values {
		one := values{Name: v.Name}
		if v.Type != table.Invalid {
			one.Type = v.Type.String()
			add(fmt.Sprintf("texts_%d_%d", i, j), v.Type, v.Data)
		}
		in.Values = append(in.Values, one)
	}
	return in, arrays
}
