package source

import "math"

// Extent is where the bytes of a sample are: a file of a folder, a member of a tar, a
// value in a buffer. It is gf_extent of reader/extent.h.
type Extent struct {
	Object uint32 // its number in a list of objects
	Packed uint32 // see extent.h
	Offset int64
	Length int64 // below 0: all that is behind the offset
}

// Pixels as Packed: a picture without a file format.
const Pixels = math.MaxInt32

// Facts are what was found out about a sample; 0: not known yet. They are gf_facts of
// reader/extent.h.
type Facts struct {
	Width, Height int32 // of the picture
}
