package source

import (
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Extent is where the bytes of a sample are: a file of a folder, a member of a tar, a
// value in a buffer. It is gf_extent of reader/extent.h.
type Extent struct {
	Object uint32 // its number in a list of objects
	Packed uint32 // see extent.h
	Offset int64
	Length int64 // below 0: all that is behind the offset
}

// Facts are what was found out about a sample; 0: not known yet. They are gf_facts of
// reader/extent.h.
type Facts struct {
	Width, Height int32 // of the picture
}

// Within is the extents with the lengths of those that have none. One that is not within
// its object is refused.
func Within(objects []Object, extents []Extent) ([]Extent, error) {
	made := slices.Clone(extents)
	for i := range made {
		if err := made[i].within(objects); err != nil {
			return nil, err.AtIndex(int64(i))
		}
	}
	return made, nil
}

func (e *Extent) within(objects []Object) *errs.Error {
	if int64(e.Object) >= int64(len(objects)) {
		return errs.New(errs.ErrConfig, "open", fmt.Sprintf("there are %d objects, and this is of number %d", len(objects), e.Object))
	}
	if objects[e.Object] == nil {
		return errs.New(errs.ErrConfig, "open", fmt.Sprintf("object %d is nil", e.Object))
	}
	size := objects[e.Object].Stamp().Size
	if e.Length < 0 {
		e.Length = size - e.Offset
	}
	if e.Offset < 0 || e.Length < 0 || e.Length > size-e.Offset {
		return errs.New(errs.ErrConfig, "open", fmt.Sprintf("%d bytes are not in an object of %d", e.Length, size)).
			At(objects[e.Object].Path()).AtOffset(e.Offset)
	}
	return nil
}
