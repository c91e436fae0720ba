package npy

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/table"
)

// Describe implements table.Describer.
func (t *openFile) Describe() (table.Facts, error) {
	facts := table.Facts{Columns: make([]table.ColumnFacts, len(t.columns))}
	for i, c := range t.columns {
		a, _ := t.where(i)
		f := table.ColumnFacts{Name: c.Name, Type: a.elem.name(), Shape: c.Shape}
		if a.deflated() {
			f.Codec = "deflate"
		}
		facts.Columns[i] = f
	}
	return facts, nil
}

// name is numpy's name of the dtype, and for text its longest length.
func (e elem) name() string {
	switch e.kind {
	case 'b':
		return "bool"
	case 'U':
		return fmt.Sprintf("text[%d]", e.size/4)
	case 'S':
		return fmt.Sprintf("bytes[%d]", e.size)
	}
	return map[byte]string{'u': "uint", 'i': "int", 'f': "float"}[e.kind] + fmt.Sprint(8*e.size)
}
