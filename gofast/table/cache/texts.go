package cache

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
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

// text is a Text in the header.
type text struct {
	Name   string   `json:"name"`
	Values []values `json:"values"`
}

type values struct {
	Name string `json:"name"`
	Type string `json:"type"` // "": all are 1
}

// arrays are the names of the members of column i.
func (t *text) arrays(i int) []string {
	names := []string{fmt.Sprintf("texts_%d_ends", i)}
	for j, v := range t.Values {
		if v.Type != "" {
			names = append(names, fmt.Sprintf("texts_%d_%d", i, j))
		}
	}
	return names
}

// types are those of the members, in the same order.
func (t *text) types() []table.Type {
	types := []table.Type{table.Int64}
	for _, v := range t.Values {
		if v.Type != "" {
			types = append(types, table.TypeNamed(v.Type))
		}
	}
	return types
}

// described is the text in the header, and the content of its members.
func (t *Text) described() (text, [][]byte) {
	in, data := text{Name: t.Name, Values: []values{}}, [][]byte{t.Ends}
	for _, v := range t.Values {
		one := values{Name: v.Name}
		if v.Type != table.Invalid {
			one.Type, data = v.Type.String(), append(data, v.Data)
		}
		in.Values = append(in.Values, one)
	}
	return in, data
}

// after is a member of one dimension, behind the others.
func after(members []member, name string, kind table.Type, bytes int64) member {
	count := bytes / int64(max(kind.Size(), 1))
	return place(name, npy.Descr(kind, false), []int64{count}, bytes, members[len(members)-1].end(), align)
}

// textKinds are the kinds of the numbers that rows have of n columns of texts.
func textKinds(n int) []string {
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = kindNames[table.TextLabel]
	}
	return kinds
}
