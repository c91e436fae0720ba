// Package gofast turns files into batches. It is the core of the Python package
// of the same name, and builds, tests and runs without Python.
//
// The packages:
//
//	source    where bytes come from
//	table     files of rows -> a matrix; gather: rows of it -> a batch
//	image     files of pictures -> samples
//	numbers   scale, mean, std, dtype: what is made of a stored number
//	engine    threads, tickets, slots: the only owner of batch memory
//	device    batches on their way to a GPU: Loader.To
//
// A table is decoded once, into a row-major matrix of the smallest type that holds
// every value. The matrix is then a source of rows. The engine gathers the rows of a
// batch, converts them, and writes them into a slot of C memory.
package gofast

// Version of gofast, of both the Go and the Python package.
const Version = "0.1.0"
