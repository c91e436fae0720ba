// Package parquet reads Parquet files into the row-major matrix of a table.
//
// The data path, one file each:
//
//	footer.go   the file's metadata, by the bounded reader of thrift.go
//	schema.go   schema tree -> columns, and what of them can be used
//	plan.go     jobs: row group x tile of up to 64 output columns
//	crew.go     the goroutines, each with the memory of worker.go; neighbouring chunks read together
//	chunk.go    one column chunk -> pages: sizes checked, bytes read with pread, CRC verified
//	page.go     one page: decompressed (codec.go), levels split off (levels.go)
//	values.go   encoded values -> numbers of the matrix's type (plain.go, dictionary.go, delta.go, strings.go)
//	tile.go     columns of a tile -> rows of the matrix (page)
//	coding.go   text and times as features, on request (time.go)
//	vector.go   columns with several values a row: fixed-length binary and lists
//	label.go    label columns, numbers and strings
//	scan.go     Range: the same line, ending in minimum and maximum
//
// Every size that a file declares is checked before memory is taken for it.
// The metadata and page loop are ours and not parquet-go's, because its thrift
// decoder allocates lists of a length that the file declares, its run decoder
// expands 7 bytes to 2 GiB, and its decompression has no bound (all measured on
// v0.32.0); tests compare with its row API.
package parquet
