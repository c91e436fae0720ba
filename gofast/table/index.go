package table

import (
	"slices"
	"strings"
)

// UnnamedIndex is how pandas names the first column of a text file whose name is empty: mostly an index that it wrote itself.
const UnnamedIndex = "Unnamed: 0"

// IsIndex says that a name alone is that of a pandas frame's index, in any format: UnnamedIndex, "Unnamed: 0.1" where a frame
// was written with it once more, and "__index_level_0__" of pyarrow.
func IsIndex(name string) bool {
	level, found := strings.CutPrefix(name, "__index_level_")
	if found {
		level, found = strings.CutSuffix(level, "__")
		return found && digits(level)
	}
	again, found := strings.CutPrefix(name, UnnamedIndex)
	return found && (again == "" || again[0] == '.' && digits(again[1:]))
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// IndexLast puts the columns of an index behind the others, which positions count.
func IndexLast[T any](columns []T, isIndex func(T) bool) []T {
	behind := func(c T) bool { return !isIndex(c) }
	others := slices.DeleteFunc(slices.Clone(columns), isIndex)
	return append(others, slices.DeleteFunc(slices.Clone(columns), behind)...)
}

// Counted is the number of columns that are no index.
func Counted(columns []Column) int {
	if at := slices.IndexFunc(columns, func(c Column) bool { return c.Index }); at >= 0 {
		return at
	}
	return len(columns)
}
