package csv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table/csv/csvrow"
)

// The kernels and the general parser, one chunk and tiny ones, one thread and
// three: for any bytes the same table or the same error.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"a,b\n1,2\n3,4\n", "1,2,3\r\n4,5,6\r\n", "a,b\n1,256\n", "\"a\",b\n\"1\n\",2\n3,\"4\"\"\"\n", "a\tb\n 1\t\n\t2\n", ",a\n0,1\n1,x\n",
		"a,b\r1,2\r\r\n3,4", "x;y\n1;True\n2;False\n", "a\n\n1\n  \n2", "a,b\n.5,NA\n-1e3,inf\n", "l,p\n7,\"\n", "id,p,q\nab,1,2\ncd,3,4\n",
		"\ufeff1|2\n3|4|5\n", "9,9\n1,1\n\"2\",2\n3,3\n 4,4\n5,5\n",
	} {
		f.Add([]byte(seed), uint8(3), true, uint8(0))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8, label bool, variant uint8) {
		path := filepath.Join(dir, fmt.Sprintf("%d.csv", os.Getpid()))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		zero := 0.0
		one := setup{header: []*bool{nil, &yes, &no}[int(variant>>6)%3], general: true, fill: &zero, limits: limits.Limits{Memory: 256 << 20}}
		r, err := one.open(t, path)
		if err == nil {
			if columns := r.Columns(); label && len(columns) > 1 {
				one.labels = []string{columns[0].Name}
			}
			r.Close()
		}
		want, wantErr := one.read(t, path)
		if errs.Name(wantErr) == "Internal" && wantErr != nil {
			t.Fatalf("%v for %q", wantErr, data)
		}
		all := csvrow.Variants()
		defer csvrow.Force(all[int(variant)%len(all)])()
		for _, size := range []int{0, 1 + int(chunk)} {
			other := one
			other.general, other.chunk, other.threads = false, size, 3
			got, err := other.read(t, path)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("chunk %d: %v, want %v, for %q", size, err, wantErr, data)
			}
			if err == nil && (got.typ != want.typ || got.rows != want.rows || !same(got.cells, want.cells) || !slices.Equal(got.labels, want.labels)) {
				t.Fatalf("chunk %d: %+v, want %+v, for %q", size, got, want, data)
			}
		}
	})
}
