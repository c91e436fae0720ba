// Package reader gets the bytes of samples, in C (reader.h): for the engine's
// threads, and for forked workers. A sample is a range of an object (extent.h).
//
//	file.c    objects are files: paths in an index
//	memory.c  objects are memory of others: addresses and lengths
package reader
