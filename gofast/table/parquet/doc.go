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
//	values.go   encoded values -> numbers of the matrix's type (plain.go, dictionary.go, delta.go, strings.go);
//	            which of them fit, and their range, is table.Cells' to say
//	tile.go     columns of a tile -> rows of the matrix (the package page)
//	coding.go   text and times as features, on request (time.go)
//	vector.go   columns with several values a row: fixed-length binary and lists
//	label.go    label columns, numbers and strings
//	scan.go     Range: the same line, ending in minimum and maximum
//
// Every size that a file declares is checked before memory is taken for it.
// The metadata and page loop are ours and not parquet-go's, because its thrift
// decoder allocates lists of a length that the file declares, its run decoder
// expands 7 bytes to 2 GiB, and its decompression has no bound (all measured on
// v0.32.0); tests compare with its row API. A walk that bounds the lengths first would
// make its decoder safe, not fast enough: a footer of 785 columns takes it 1.9 ms and
// 970 KB (1.0 ms into structs with our fields alone), here 0.5 ms and 90 KB; that of
// three columns 10 us (6), here 3; a page's header 0.55 us, here 0.1; the walk comes to
// 0.4 ms and 1.6 us on top.
package parquet
