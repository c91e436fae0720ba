package parquet

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// pandasKey is the note in which pandas, pyarrow and fastparquet describe the
// frame that was written.
const pandasKey = "pandas"

// HuggingFaceKey is the note in which Hugging Face's datasets describe the columns.
const HuggingFaceKey = "huggingface"

// storedNote is one of the footer's keys with its value, by the format's numbers.
type storedNote struct {
	Key   string `thrift:"1"`
	Value string `thrift:"2"`
}

// parseNotes reads the footer's keys and values. Only what pandas would read as
// the frame's index matters, which is no column of the frame, and Hugging Face's.
func (r *Reader) parseNotes(t *metaReader, kind thrift.Type, meta *metadata) error {
	n, err := t.list(kind)
	if err != nil {
		return err
	}
	for range n {
		var note storedNote
		if err := t.structure(&note, t.skip); err != nil {
			return err
		}
		if note.Key == HuggingFaceKey {
			meta.features = strings.Clone(note.Value)
		}
		if note.Key == pandasKey {
			if err := r.parsePandas(note.Value, meta); err != nil {
				return err
			}
		}
	}
	return nil
}

// parsePandas finds the names of the index columns. They stand first, so that
// the description of a thousand columns behind them is not read.
func (r *Reader) parsePandas(text string, meta *metadata) error {
	d := json.NewDecoder(strings.NewReader(text))
	bad := func(err error) error {
		return r.fault(errs.ErrDamaged, "the footer's description of the pandas frame cannot be read").Because(err)
	}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return bad(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return bad(err)
		}
		if key != "index_columns" {
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return bad(err)
			}
			continue
		}
		var columns []indexColumn
		if err := d.Decode(&columns); err != nil {
			return bad(err)
		}
		meta.index = make(map[string]bool, len(columns))
		for _, c := range columns {
			if c != "" {
				meta.index[string(c)] = true
			}
		}
		return nil
	}
	return nil
}

// indexColumn is the name of a column that holds an index, or "" for an index
// that is only described, such as a range.
type indexColumn string

// UnmarshalJSON reads a name or a description.
func (c *indexColumn) UnmarshalJSON(text []byte) error {
	var name *string
	var described struct {
		Name *string `json:"field_name"` // of a column, in old files
	}
	if json.Unmarshal(text, &name) != nil {
		if err := json.Unmarshal(text, &described); err != nil {
			return fmt.Errorf("an index column is a name or a description: %w", err)
		}
		name = described.Name
	}
	if name != nil {
		*c = indexColumn(*name)
	}
	return nil
}
