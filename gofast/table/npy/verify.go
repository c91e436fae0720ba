package npy

import (
	"context"
	"fmt"

	"github.com/gofast-org/gofast/gofast/table"
)

// Verify implements table.Verifier: every block of every array is read, and compared
// with the checksum of its member.
func (t *openFile) Verify(ctx context.Context) (err error) {
	defer t.guard(&err)
	var plans []*plan
	for _, a := range t.arrays {
		plans = append(plans, &plan{array: a})
	}
	return t.visit(ctx, plans, func(*plan, int64, int64) []byte { return nil }, func(*plan, int64, []byte, *scratch) error { return nil })
}

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
