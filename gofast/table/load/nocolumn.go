package load

import (
	"fmt"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

func noColumn(path, option string, ref ColumnRef, columns []table.Column) error {
	wanted := fmt.Sprintf("%q", errs.Cut(ref.Name))
	if ref.ByPos {
		wanted = fmt.Sprint(ref.Index)
	}
	hint, least := "", (len(ref.Name)+4)/3
	for _, c := range columns {
		if edits := editsBetween(tidy(c.Name), tidy(ref.Name)); !ref.ByPos && edits < least {
			hint, least = fmt.Sprintf("; did you mean %q?", errs.Cut(c.Name)), edits
		}
	}
	return errs.New(errs.ErrSchema, "open", fmt.Sprintf("%s=%s is not a column%s; the file has %s", option, wanted, hint, listed(columns))).At(path)
}

func tidy(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// editsBetween counts the bytes to insert, delete or replace to make one name of another; names beyond 80
// bytes are no typing errors.
func editsBetween(a, b string) int {
	if max(len(a), len(b)) > 80 {
		return 80
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			edits := before
			if a[i] != b[j] {
				edits = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], edits
		}
	}
	return row[len(b)]
}

// listed names the first columns of a file.
func listed(columns []table.Column) string {
	const show = 6
	var names []string
	for _, c := range columns[:min(show, len(columns))] {
		names = append(names, fmt.Sprintf("%q", errs.Cut(c.Name)))
	}
	if len(columns) > show {
		names = append(names, fmt.Sprintf("... (%d in all)", len(columns)))
	}
	return strings.Join(names, ", ")
}
