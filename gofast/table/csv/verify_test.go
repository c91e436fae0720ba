package csv

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// An integer that gofast cannot hold is no damage, and hides none.
func TestVerifyOfValuesBeyondInt64(t *testing.T) {
	const rowsBefore = 1100 // more than the sample by which a column is one of numbers
	verify := func(text string, chunk int) error {
		r, err := setup{threads: 3, chunk: chunk}.open(t, write(t, []byte(text)))
		if err != nil {
			return err
		}
		defer r.Close()
		return r.Verify(t.Context())
	}
	rows := func(lines ...string) string {
		var b strings.Builder
		b.WriteString("hash,x\n")
		for i := range rowsBefore {
			fmt.Fprintf(&b, "%d,1.5\n", i)
		}
		return b.String() + strings.Join(lines, "\n") + "\n"
	}
	for _, chunk := range []int{0, 64} {
		if err := verify(rows("9223372036854775807,1", "-9223372036854775808,1"), chunk); err != nil {
			t.Errorf("chunk %d: %v", chunk, err)
		}
		for _, cell := range []string{"9223372036854775808", "18446744073709551615", "-9223372036854775809", "99999999999999999999999"} {
			err := verify(rows(cell+",2", "1,1", "18446744073709551615,2"), chunk)
			var at *errs.Error
			if !errors.Is(err, errs.ErrUnsupported) || !errors.As(err, &at) || at.Row != rowsBefore || at.Column != "hash" || at.Cell != cell || at.Line != rowsBefore+2 {
				t.Errorf("%s, chunk %d: %v", cell, chunk, err)
			}
			for _, damage := range []string{"1", "1,word"} {
				if err := verify(rows(cell+",2", damage), chunk); err == nil || errors.Is(err, errs.ErrUnsupported) {
					t.Errorf("%s and %q, chunk %d: %v", cell, damage, chunk, err)
				}
			}
		}
	}
}
