// Package csvrow holds the hot loops of the CSV reader: counting lines, turning rows of integers 0..255 into bytes, and
// rows of any numbers into any type. All have a form for AVX-512 and a plain one that defines the result (csvrow.c,
// numbers.c); the first two have one for AVX2 as well.
package csvrow
