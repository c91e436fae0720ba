package load

import (
	"context"
	"errors"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// verifiedBytes is the memory for labels that are decoded together; more where a part of a file has more.
const verifiedBytes = 16 << 20

// Verify reads the files whole, as Decode does, and keeps nothing: its error is that of Decode.
func Verify(ctx context.Context, paths []string, options Options) error {
	options.streamed = true
	o, err := open(ctx, paths, options)
	if err != nil {
		return err
	}
	s := &Stream{o: o}
	defer s.Close()
	features := o.schema.Width > 0
	inFeatures := error(nil)
	if features {
		_, inFeatures = o.ranges(ctx, false)
	}
	if len(o.kinds) == 0 {
		return inFeatures
	}
	for i := range o.selections {
		o.selections[i].Features, o.selections[i].Fills, o.selections[i].Codings = nil, nil, nil
	}
	o.schema.Width, o.start = 0, table.Uint8
	return first(s.readAll(ctx), inFeatures)
}

// readAll decodes all parts of the files.
func (s *Stream) readAll(ctx context.Context) error {
	memory := make([]byte, verifiedBytes)
	for {
		d, _, err := s.Next(ctx, memory)
		switch {
		case errors.Is(err, ErrRoom):
			if err := s.o.budget.Reserve(d.Size, "labels"); err != nil {
				return err
			}
			s.o.budget.Release(d.Size) // the garbage collector has the rest
			memory = make([]byte, d.Size)
		case err != nil || d.Rows == 0:
			return err
		}
	}
}

// first is the error that Decode would have met first: a row's labels are decoded before its features.
func first(inLabels, inFeatures error) error {
	a, b := (*errs.Error)(nil), (*errs.Error)(nil)
	if errors.As(inLabels, &a) && errors.As(inFeatures, &b) && a.Path == b.Path && b.Row < a.Row || inLabels == nil {
		return inFeatures
	}
	return inLabels
}

// VerifyUsable is Verify without the columns that are no features as they are, such as those of text: left says why not, of
// the first one. Where even the others are none, it is the error itself.
func VerifyUsable(ctx context.Context, paths []string, options Options) (left, err error) {
	for {
		err = Verify(ctx, paths, options)
		at := (*errs.Error)(nil)
		unusable := errors.Is(err, errs.ErrSchema) || errors.Is(err, errs.ErrUnsupported)
		if !unusable || !errors.As(err, &at) || at.Column == "" || slices.Contains(options.Exclude, ColumnRef{Name: at.Column}) {
			break
		}
		if left == nil {
			left = err
		}
		options.Exclude = append(options.Exclude, ColumnRef{Name: at.Column})
	}
	if left != nil && (errors.Is(err, errs.ErrSchema) || errors.Is(err, errs.ErrUnsupported)) {
		err = nil
	}
	return left, err
}
