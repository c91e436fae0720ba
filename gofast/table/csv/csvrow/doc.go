// Package csvrow holds the hot loops of the CSV reader: counting lines, turning rows of integers 0..255 into bytes, and
// rows of any numbers into any type. The first two have forms for AVX-512 and AVX2, and a plain one that defines the
// result (csvrow.c).
package csvrow
