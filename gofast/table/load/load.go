// Package load makes one table of files: it opens them, chooses the columns, numbers labels and texts, and decodes into the
// smallest type, in memory (Decode), a cache file (BeginCache) or a file of another format (Convert).
package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"golang.org/x/sys/unix"
)

// Schema describes a decoded table.
type Schema struct {
	Rows       int64       `json:"rows"`
	Width      int         `json:"width"`
	Type       table.Type  `json:"type"`    // storage type of the features
	Bool       bool        `json:"bool"`    // the features are booleans
	Rounded    bool        `json:"rounded"` // to Type, as Options.Rounds said
	Shape      []int       `json:"shape"`
	Features   []string    `json:"features"`
	Dropped    []string    `json:"dropped"` // columns with the index of a pandas frame
	Labels     []string    `json:"labels"`
	Texts      []string    `json:"texts"` // whose numbers stand behind those of the labels in each row
	LabelKinds []LabelType `json:"label_kinds"`
	Classes    []string    `json:"classes"` // of the text label: sorted, or as they were given
}

// Decoded is a table in memory: where it is, and its arrays there.
type Decoded struct {
	Address uintptr `json:"address"`
	Schema
	FeaturesOffset int64 `json:"features_offset"`
	LabelsOffset   int64 `json:"labels_offset"`
	Size           int64 `json:"size"`
	Kept           Kept  `json:"kept"` // texts, where there are any
}

// memory is the destination of a decoded table: a region or a cache file.
type memory struct {
	features, labels []byte
	close            func()
}

// opened is the files of one table, with the columns chosen in each.
type opened struct {
	readers    []table.Reader
	files      []*source.File
	selections []table.Selection
	schema     Schema
	kinds      []table.LabelKind // of the labels, and behind them of the texts
	texts      []ColumnText
	dicts      []*table.Dictionary // of the last decode, by kinds
	typedBy    int                 // the file that decides the labels' kinds; none: -1
	classes    Classes
	codings    []coding
	start      table.Type // the type worth trying first
	bound      int64      // rows at most
	exact      bool       // bound is the number of rows
	rounds     table.Type // of integers that nothing holds exactly; Invalid: they are an error
	rounded    bool       // there were some: start is rounds
	budget     *limits.Budget
	scratch    *table.Scratch
	rests      bool     // files are open while they are read only
	parts      []origin // where the readers' rows begin, of parts; nil: the readers are of whole files
}

// origin is where the first row of a part stands.
type origin struct {
	file table.Reader
	row  int64
}

func (o *opened) close() {
	o.scratch.Empty()
	for _, r := range o.readers {
		r.Close()
	}
	for _, f := range o.files {
		f.Close()
	}
}

func (o *opened) rest(file int) {
	if o.rests {
		o.files[file].Rest()
	}
}

// Decode reads the files into new memory, which the caller unmaps. It is for
// gofast.TableDataset of Python, which has a cache to advise where the memory is too small.
func Decode(ctx context.Context, paths []string, options Options) (Decoded, error) {
	region, d, err := decode(ctx, paths, options, "pass cache= to keep the table in a file, or ")
	if err == nil {
		d.Address = region.Give()
	}
	return d, err
}

func decode(ctx context.Context, paths []string, options Options, hint string) (*engine.Region, Decoded, error) {
	o, err := open(ctx, paths, options)
	if err != nil {
		return nil, Decoded{}, err
	}
	defer o.close()
	if len(o.texts) == 0 { // cache= needs memory for them too
		o.budget.Hint = func(int64) string { return hint }
	} else if err := o.count(ctx); err != nil { // what rows without a bound took would be taken from the texts
		return nil, Decoded{}, err
	}
	var region *engine.Region
	var m memory
	err = o.decode(ctx, func(t table.Type) (memory, error) {
		region, m, err = o.region(t)
		if errors.Is(err, errs.ErrLimit) && !o.exact {
			// The bound assumes that every row has the fewest possible bytes, so it is
			// often twice the real number. Counting takes a pass, which is worth it.
			if err := o.count(ctx); err != nil {
				return memory{}, err
			}
			region, m, err = o.region(t)
		}
		return m, err
	})
	if err != nil {
		return nil, Decoded{}, err
	}
	d := Decoded{Schema: o.schema, LabelsOffset: int64(len(m.features))}
	d.Size = max(d.LabelsOffset+d.Rows*int64(len(o.kinds))*8, 1)
	if d.Kept, err = o.keep(); err != nil {
		region.Close()
		return nil, Decoded{}, err
	}
	if err = region.Finish(d.Size); err != nil && len(o.texts) > 0 {
		unix.Close(d.Kept.FD)
	}
	return region, d, err
}

// Map reads the files into memory of this process, which the caller closes.
func Map(ctx context.Context, paths []string, options Options) (*engine.Region, Decoded, error) {
	if err := options.withoutTexts(); err != nil {
		return nil, Decoded{}, err
	}
	return decode(ctx, paths, options, "")
}

// onlyCells says that all values are what the files have. Then floats that a float32 does not hold are float64s, and
// need no look at their range.
func (o *opened) onlyCells() bool {
	for _, sel := range o.selections {
		if sel.Fill != nil || sel.Fills != nil || len(sel.Codings) > 0 {
			return false
		}
	}
	return true
}

// decode decodes into memory for the bound of rows, or for all that there are if they turn out to be more.
func (o *opened) decode(ctx context.Context, alloc func(table.Type) (memory, error)) error {
	err := o.decodeNarrow(ctx, alloc)
	if errors.Is(err, table.ErrFull) && !o.exact {
		if err = o.count(ctx); err == nil {
			err = o.decodeNarrow(ctx, alloc)
		}
	}
	if errors.Is(err, table.ErrFull) {
		return errs.New(errs.ErrChanged, "table", "there are more rows than were counted before").At(o.files[0].Path())
	}
	return err
}

// decodeNarrow tries the narrowest type. If a value does not fit, it finds the range of the
// values and decodes once more.
func (o *opened) decodeNarrow(ctx context.Context, alloc func(table.Type) (memory, error)) error {
	if o.rounded {
		return o.decodeAs(ctx, o.rounds, alloc)
	}
	err := o.decodeAs(ctx, o.start, alloc)
	if errors.Is(err, table.ErrNarrow) && o.start == table.Float32 && o.onlyCells() {
		err = o.decodeAs(ctx, table.Float64, alloc)
	}
	for attempt := 0; errors.Is(err, table.ErrNarrow); attempt++ {
		features, rangeErr := o.ranges(ctx, attempt > 0)
		if rangeErr != nil {
			return o.firstBad(ctx, rangeErr, alloc)
		}
		wider, typeErr := features.Type()
		if typeErr != nil && o.rounds != table.Invalid {
			o.rounded = true
			return o.decodeAs(ctx, o.rounds, alloc)
		}
		if typeErr != nil {
			return o.coarser(typeErr.(*errs.Error).At(o.files[0].Path()))
		}
		if attempt > 1 {
			return errs.New(errs.ErrInternal, "table", fmt.Sprintf("values do not fit %s, which their range asked for", wider)).At(o.files[0].Path())
		}
		err = o.decodeAs(ctx, wider, alloc)
	}
	return err
}

// firstBad is the error of the first bad cell, of a table that has one among its features: that of a label may stand
// before it. Decoding finds both, into a type that refuses no number; where there is no memory for that, it is the feature's.
func (o *opened) firstBad(ctx context.Context, feature error, alloc func(table.Type) (memory, error)) error {
	was := o.rounded
	o.rounded = true
	err := o.decodeAs(ctx, table.Float32, alloc)
	o.rounded = was
	var a, b *errs.Error
	if !errors.As(feature, &a) || !errors.As(err, &b) || a.Row == errs.None || b.Row == errs.None {
		return feature
	}
	for _, f := range o.files { // they are decoded one after the other
		if path := f.Path(); path == a.Path || path == b.Path {
			if path != b.Path || path == a.Path && a.Row < b.Row {
				return feature
			}
			return err
		}
	}
	return feature
}

// count makes the bound exact.
func (o *opened) count(ctx context.Context) error {
	o.bound, o.exact = 0, true
	for i, r := range o.readers {
		if c, ok := r.(table.Counter); ok {
			if err := c.Count(ctx); err != nil {
				return o.inFile(ctx, err, i)
			}
		}
		rows, _ := r.Rows()
		o.bound += rows
	}
	return nil
}

// ranges scans the values of every file. A fill value counts only after some cell has
// needed it.
func (o *opened) ranges(ctx context.Context, withFill bool) (features table.Range, err error) {
	for i, r := range o.readers {
		f, err := r.Range(ctx, o.selections[i])
		if err != nil {
			return features, o.inFile(ctx, err, i)
		}
		features.Merge(f)
	}
	if sel := o.selections[0]; withFill {
		for _, fill := range append([]*float64{sel.Fill}, sel.Fills...) {
			if fill == nil {
				continue
			}
			if v, fits := table.FitReal[int64](*fill); fits && !features.Float {
				features.Int(v)
			} else {
				features.Real(*fill)
			}
		}
	}
	return features, nil
}

func (o *opened) decodeAs(ctx context.Context, t table.Type, alloc func(table.Type) (memory, error)) (err error) {
	m, err := alloc(t)
	if err != nil {
		return err
	}
	labels, dicts := len(o.kinds)-len(o.texts), make([]*table.Dictionary, len(o.kinds))
	defer func() {
		if err != nil {
			m.close()
			for _, text := range dicts[labels:] {
				text.Release()
			}
		}
	}()
	for i, kind := range o.kinds[:labels] {
		if kind == table.TextLabel {
			dicts[i] = o.classes.dictionary()
		}
	}
	for i, text := range o.texts {
		dicts[labels+i] = table.NewTexts(o.budget, text.Missing)
	}
	var rows int64
	rowBytes, labelBytes := int64(o.schema.Width*t.Size()), int64(len(o.kinds)*8)
	for i, r := range o.readers {
		target := table.Target{
			Features: table.Matrix{Data: m.features[rows*rowBytes:], Type: t, Width: o.schema.Width, Rounds: o.rounded},
			Labels:   m.labels[rows*labelBytes:],
			Kinds:    o.storedKinds(i),
			Dict:     dicts,
		}
		n, err := r.Decode(ctx, o.selections[i], target)
		if err != nil {
			// What is wrong with a label is found behind the decoding: it may stand in an earlier row.
			before := min(pool.PlaceOf(err, 0, 0).Row*labelBytes, int64(len(target.Labels)))
			if before > 0 {
				if err := o.numberLabels(ctx, i, target.Kinds, target.Labels[:before]); err != nil {
					return err
				}
			}
			return o.inFile(ctx, err, i)
		}
		if err := o.files[i].CheckUnchanged(); err != nil {
			return err
		}
		o.rest(i)
		if err := o.numberLabels(ctx, i, target.Kinds, target.Labels[:n*labelBytes]); err != nil {
			return err
		}
		rows += n
	}
	o.dicts = dicts
	s := &o.schema
	s.Rows, s.Type, s.Rounded = rows, t, o.rounded
	s.LabelKinds = nil
	for i, kind := range o.kinds[:labels] {
		s.LabelKinds = append(s.LabelKinds, kindNames[kind])
		if kind == table.TextLabel {
			words, place := dicts[i].Words(), o.classes.numbers()
			if o.classes.none() {
				words, place = dicts[i].Sorted()
			}
			s.Classes = words
			renumber(m.labels[:rows*labelBytes], i, len(o.kinds), place)
		}
	}
	return nil
}

const pageBytes = 4096 // labels begin on a page of their own

// sizes are the bytes of the features, and of these and the labels.
func (o *opened) sizes(t table.Type) (labelsAt, size int64, err error) {
	features, ok := limits.Mul(o.bound, int64(o.schema.Width), int64(t.Size()))
	labels, ok2 := limits.Mul(o.bound, int64(len(o.kinds)), 8)
	if !ok || !ok2 || features > 1<<60 || labels > 1<<60 {
		return 0, 0, errs.New(errs.ErrLimit, "table", fmt.Sprintf("%d rows of %d features do not fit an address space", o.bound, o.schema.Width))
	}
	labelsAt = (features + pageBytes - 1) &^ (pageBytes - 1)
	return labelsAt, labelsAt + labels, nil
}

// region lays the features and then the labels out in a new region.
func (o *opened) region(t table.Type) (region *engine.Region, m memory, err error) {
	labelsAt, size, err := o.sizes(t)
	if err != nil {
		return nil, m, err
	}
	if err := o.budget.Reserve(size, fmt.Sprintf("a table of %d rows and %d features as %s", o.bound, o.schema.Width, t)); err != nil {
		return nil, m, err
	}
	if region, err = engine.NewRegion(max(size, 1)); err != nil {
		o.budget.Release(size)
		return nil, m, err
	}
	return region, memory{region.Bytes()[:labelsAt], region.Bytes()[labelsAt:size], func() { region.Close(); o.budget.Release(size) }}, nil
}
