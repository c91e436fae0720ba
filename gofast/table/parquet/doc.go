// Package parquet reads Parquet files into the row-major matrix of a table.
//
// The data path, one file each:
//
//	footer.go   the file's metadata: structures of stored.go, by the bounded reader of thrift.go
//	schema.go   schema tree -> columns, and what of them can be used
//	plan.go     jobs: row group x tile of up to 64 output columns
//	crew.go     the goroutines, each with the memory of worker.go; neighbouring chunks read together
//	chunk.go    one column chunk -> pages: sizes checked, bytes read with pread, CRC verified
//	page.go     one page: decompressed (codec.go), levels split off (levels.go)
//	values.go   encoded values -> numbers of the matrix's type (plain.go, dictionary.go, delta.go, strings.go);
//	            which of them fit, and their range, is table.Cells' to say
//	tile.go     columns of a tile -> rows of the matrix (the package page)
//	coding.go   text and times as features, on request (time.go)
//	vector.go   columns with several values a row: fixed-length binary and lists
//	label.go    label columns, numbers and strings
//	scan.go     Range: the same line, ending in minimum and maximum
//	find.go     where each value of a binary column lies in the file, for pictures
//	layout.go   the same for another format whose columns are plain values: Arrow's
//
// Every size that a file declares is checked before memory is taken for it.
// parquet-go decodes the metadata, one structure at a time and behind a walk that bounds
// it: alone it nests as deep as a file says, and makes lists of a length that the file
// declares. The page loop is ours, because the library's run decoder expands 7 bytes to
// 2 GiB, its delta decoder fills up a block that is cut with other bytes, and its
// decompression has no bound (all of v0.32.0); tests compare with its row API.
package parquet
