package source

import (
	"os"

	"golang.org/x/sys/unix"
)

// Stamp is the one answer to "is it still the same?", for what was opened, for caches and
// for samples: any rewrite changes at least one field. It has a fixed size, so files of
// ours store it as it is, and C compares it field by field (reader/extent.h's gf_stamp). What is
// pickled is compared by what it holds instead: it may be unpickled on another machine.
// python/gofast/_core/stamp.py is the same in Python.
type Stamp struct {
	Size    int64
	MtimeNs int64
	CtimeNs int64
	ID      uint64 // the inode of a file; of another object, a number that its ETag gives
}

// StampOf is the stamp of a file's or a folder's state.
func StampOf(s *unix.Stat_t) Stamp {
	return Stamp{Size: s.Size, MtimeNs: s.Mtim.Nano(), CtimeNs: s.Ctim.Nano(), ID: s.Ino}
}

// stampOf is that of an open file, and whether it is a regular one.
func stampOf(f *os.File) (stamp Stamp, regular bool, err error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return Stamp{}, false, err
	}
	return StampOf(&s), s.Mode&unix.S_IFMT == unix.S_IFREG, nil
}
