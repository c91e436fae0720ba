package load

import (
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/table"
	"golang.org/x/sys/unix"
)

// ColumnText is a column whose texts are kept. They are decoded as a text label is: each row has the number of its
// text, and equal texts are one.
type ColumnText struct {
	Column  ColumnRef `json:"column"`
	Missing *string   `json:"missing"` // stands for an empty or null cell; nil: that is an error
}

// Kept is where the texts lie, in memory of their own: its descriptor, and a place for each column.
type Kept struct {
	FD      int         `json:"fd"`
	Columns []KeptTexts `json:"columns"`
}

// KeptTexts are Count texts. Their ends are int64 [Count + 1], the first one 0, at EndsOffset; their bytes, in UTF-8
// and one text behind the other, at BytesOffset.
type KeptTexts struct {
	Count       int64 `json:"count"`
	EndsOffset  int64 `json:"ends_offset"`
	BytesOffset int64 `json:"bytes_offset"`
	Bytes       int64 `json:"bytes"`
}

// withoutTexts refuses them where nothing can hold them.
func (t *Options) withoutTexts() error {
	if len(t.Texts) > 0 {
		return errs.New(errs.ErrConfig, "open", "texts are for gofast.TableDataset of Python: a table that is mapped here keeps none").InColumn(t.Texts[0].Column.Name)
	}
	return nil
}

// findTexts adds the columns of texts to those of the labels.
func (o *opened) findTexts(path string, columns []table.Column, labels []int) ([]int, error) {
	for _, text := range o.texts {
		i, ok := find(columns, text.Column)
		if !ok {
			return nil, noColumn(path, "text", text.Column, columns)
		}
		if slices.Contains(labels, i) {
			return nil, errs.New(errs.ErrConfig, "open", "text= names the column twice, or it is the label too").At(path).InColumn(columns[i].Name)
		}
		labels = append(labels, i)
	}
	return labels, nil
}

// chooseTexts refuses columns of texts that hold none, and gives the others their kind.
func (o *opened) chooseTexts(path string, columns []table.Column, sel table.Selection) error {
	labels := len(sel.Labels) - len(o.texts)
	for j, i := range sel.Labels[labels:] {
		c := columns[i]
		if c.Shape != nil || !c.Sampled && c.Label != table.TextLabel {
			return errs.New(errs.ErrSchema, "open", "text= names a column that holds "+holds(c)).At(path).InColumn(c.Name)
		}
		o.kinds[labels+j] = table.TextLabel
	}
	return nil
}

// keep lays the texts of the last decode out, one column behind the other.
func (o *opened) keep() (kept Kept, err error) {
	if len(o.texts) == 0 {
		return kept, nil
	}
	words, size := make([][]string, len(o.texts)), int64(0)
	for i := range words {
		words[i] = o.dicts[len(o.kinds)-len(o.texts)+i].Words()
		c := KeptTexts{Count: int64(len(words[i])), EndsOffset: size}
		c.BytesOffset = size + 8*(c.Count+1)
		for _, word := range words[i] {
			c.Bytes += int64(len(word))
		}
		size = (c.BytesOffset + c.Bytes + 7) &^ 7
		kept.Columns = append(kept.Columns, c)
	}
	if err := o.budget.Reserve(size, "columns of texts"); err != nil {
		return kept, err
	}
	memory, err := store.NewMemory("buffer", "gofast-texts")
	if err != nil {
		return kept, err
	}
	defer memory.Close()
	data, err := memory.Map(size)
	if err != nil {
		return kept, err
	}
	for i, c := range kept.Columns {
		ends := table.View[int64](data[c.EndsOffset:c.BytesOffset])
		bytes, at := data[c.BytesOffset:][:c.Bytes], 0
		for j, word := range words[i] {
			at += copy(bytes[at:], word)
			ends[j+1] = int64(at)
		}
	}
	_ = unix.Munmap(data) // cannot fail for a mapping of ours
	kept.FD, err = memory.Seal()
	return kept, err
}
