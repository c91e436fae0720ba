package folder

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/source"
)

// identity is one state of a directory. A change of its entries, or of its
// permissions, changes the times.
type identity struct {
	Device uint64 // with the inode, it tells a directory that is reached twice
	source.Stamp
}

func identityOf(s *unix.Stat_t) identity {
	return identity{Device: uint64(s.Dev), Stamp: source.StampOf(s)}
}

// stat follows links, as os.stat does.
func stat(path string) (s unix.Stat_t, err error) {
	for {
		if err = unix.Stat(path, &s); err != unix.EINTR {
			return s, err
		}
	}
}

func isDirectory(s *unix.Stat_t) bool { return s.Mode&unix.S_IFMT == unix.S_IFDIR }

// The layout of linux_dirent64.
const (
	entryLength = unsafe.Offsetof(unix.Dirent{}.Reclen)
	entryType   = unsafe.Offsetof(unix.Dirent{}.Type)
	entryName   = unsafe.Offsetof(unix.Dirent{}.Name)
)

// list opens a directory and calls opened with its state. Then it calls each with
// the entries of one system call, until there are no more: names without . and ..,
// valid during the call, and types as in the directory (DT_...). Unlike
// os.File.ReadDir, it allocates nothing per entry.
func list(path string, buffer []byte, opened func(identity) error, each func(names [][]byte, types []byte) error) error {
	fd, err := open(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if err := opened(identityOf(&s)); err != nil {
		return err
	}
	var names [][]byte
	var types []byte
	for {
		n, err := unix.Getdents(fd, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		names, types = names[:0], types[:0]
		for rest := buffer[:n]; len(rest) > int(entryName); {
			length := int(binary.NativeEndian.Uint16(rest[entryLength:]))
			if length <= int(entryName) || length > len(rest) {
				return unix.EIO // no kernel writes this
			}
			name, _, _ := bytes.Cut(rest[entryName:length], []byte{0})
			if s := string(name); s != "." && s != ".." {
				names, types = append(names, name), append(types, rest[entryType])
			}
			rest = rest[length:]
		}
		if err := each(names, types); err != nil {
			return err
		}
	}
}

func open(path string) (fd int, err error) {
	for {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
