package csv

import (
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Describe implements table.Describer: what the first rows hold.
func (r *reader) Describe() (table.Facts, error) {
	facts := table.Facts{Columns: make([]table.ColumnFacts, len(r.visible))}
	for i, c := range r.Columns() {
		f := table.ColumnFacts{Name: c.Name, Type: "real"}
		switch {
		case r.fields[r.visible[i]].blank:
			f.Type = "unknown"
		case c.Text:
			f.Type = "text"
		case c.Bool:
			f.Type = "boolean"
		case c.Hint == table.Uint8:
			f.Type = "integer"
		}
		if r.compression != source.Plain {
			f.Codec = r.compression.String()
		}
		facts.Columns[i] = f
	}
	return facts, nil
}
