// Package arrow reads Arrow's files and streams (.arrow, Feather's version 2, what Hugging Face's datasets cache) into the
// row-major matrix of a table.
//
// A column of a record batch is what a page of Parquet is: plain values, and which of them are there. So package
// parquet decodes it, and this package says where columns lie and makes the pages:
//
//	flat.go    a flatbuffer, every position checked
//	schema.go  its fields -> columns, and what of them can be used
//	open.go    a file by its footer, a stream message by message
//	batch.go   a record batch's metadata: which buffers a column has
//	page.go    buffers -> the page of a column: unpacked, nulls left out, dictionaries
//	texts.go   texts by offsets and by views; lists.go: lists of numbers
//	find.go    where binaries lie in the file
//
// arrow-go would add 3.4 MB to the wheel, and takes memory for sizes that a file only claims.
package arrow
