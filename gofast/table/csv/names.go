package csv

import (
	"bytes"
	"strconv"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// isHeader decides by the first record alone whether it holds names or data, unless
// the options say so: what stands further down must not change how a file is read.
//
//   - Only texts, with empty names among them: a header. Without names before 0, 1, 2, ...:
//     pandas' header of a frame without names, beside its index.
//   - Some number twice: data, for no two columns have one name.
//   - Anything else may be either: a header of years, data with a label in words, "?"
//     for a missing value. That is an error which asks for header=.
func (r *reader) isHeader(first [][]byte, firstLine int64) (bool, error) {
	if r.opts.Header != nil {
		return *r.opts.Header, nil
	}
	if len(first) > 1 && len(first[0]) == 0 && counts(first[1:]) {
		return true, nil
	}
	texts, numbers, doubtful, twice := 0, 0, 0, false
	seen := make(map[string]bool, len(first))
	for _, cell := range first {
		switch k, _ := r.classify(cell); {
		case len(cell) == 0:
		case k == missingCell, k == textCell && placeholder(cell):
			doubtful++
		case k == textCell:
			texts++
		default:
			numbers++
			twice = twice || seen[string(cell)]
			seen[string(cell)] = true
		}
	}
	switch {
	case twice:
		return false, nil
	case texts > 0 && numbers == 0 && doubtful == 0, texts > 0 && r.countedAside(first):
		return true, nil
	}
	what := "numbers, all different"
	if texts > 0 {
		what = "text beside numbers or missing values"
	} else if doubtful > 0 || numbers == 0 {
		what = "missing values"
	}
	return false, r.fail(errs.ErrSchema, "the first line may be names or data ("+what+
		"): say header=True if it names the columns, header=False if it is a row").
		AtLine(firstLine).WithCell(string(r.utf8(bytes.Join(first[:min(len(first), 20)], []byte{r.delim}))))
}

// placeholder reports whether a text stands for a missing value in some people's
// files, and for a name in nobody's.
func placeholder(text []byte) bool {
	switch string(trim(text)) {
	case "?", "-", "--", ".", "*":
		return true
	}
	return false
}

// countedNames is from how many on the numbers 0, 1, 2, ... beside a text are the
// names that pandas gives to columns without any, and no data. A short record of
// data may well count, such as the first edge of a graph with its weight.
const countedNames = 8

// countedAside reports whether the cells that are no text count from 0 on.
func (r *reader) countedAside(first [][]byte) bool {
	var others [][]byte
	for i, cell := range first {
		if k, _ := r.classify(cell); k != textCell && (i > 0 || len(cell) > 0) {
			others = append(others, cell)
		}
	}
	return len(others) >= countedNames && counts(others)
}

// counts reports whether the names are 0, 1, 2, ...
func counts(names [][]byte) bool {
	for i, name := range names {
		if string(name) != strconv.Itoa(i) {
			return false
		}
	}
	return true
}
