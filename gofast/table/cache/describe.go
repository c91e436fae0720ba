package cache

import (
	"strconv"

	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Describe says what a cache holds, by its header: labels first, as in a converted table.
func Describe(f *source.File) (rows int64, facts table.Facts, err error) {
	h, _, err := readHeader(f)
	if err != nil {
		return 0, facts, err
	}
	for _, l := range h.Labels {
		facts.Columns = append(facts.Columns, table.ColumnFacts{Name: l.Name, Type: map[string]string{"int": "int64", "float": "float64"}[l.Kind]})
		if last := &facts.Columns[len(facts.Columns)-1]; last.Type == "" {
			last.Type = "text, " + strconv.Itoa(l.Classes) + " classes"
		}
	}
	kind := h.DType
	if h.Bool {
		kind = "bool"
	}
	if len(h.Names) != h.Width { // one column of pictures or vectors
		return h.Rows, table.Facts{Columns: append(facts.Columns, table.ColumnFacts{Name: "features", Type: kind, Shape: h.Shape})}, nil
	}
	for _, name := range h.Names {
		facts.Columns = append(facts.Columns, table.ColumnFacts{Name: name, Type: kind})
	}
	return h.Rows, facts, nil
}
