// Package csvrow holds the two hot loops of the CSV reader: counting lines, and
// turning rows of integers 0..255 into bytes. Each has forms for AVX-512 and AVX2, and
// a plain one that defines the result (csvrow.c).
package csvrow
