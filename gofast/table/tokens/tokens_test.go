package tokens

import (
	"errors"
	"math"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		w    Windows
		want error
	}{
		{Windows{Tokens: 9, Type: "uint64", Block: 1, Stride: 1}, errs.ErrUnsupported},
		{Windows{Tokens: 9, Type: "uint16", Block: 0, Stride: 1}, errs.ErrConfig},
		{Windows{Tokens: 9, Type: "uint16", Block: 1, Stride: 0}, errs.ErrConfig},
		{Windows{Tokens: 9, Type: "uint16", Block: 1 << 31, Stride: 1}, errs.ErrConfig},
		{Windows{Tokens: math.MaxInt64, Type: "uint16", Block: 1, Stride: 1}, errs.ErrConfig},
	} {
		if p, _, err := NewProgram(c.w); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, program %v", c.w, err, p)
		}
	}
}
