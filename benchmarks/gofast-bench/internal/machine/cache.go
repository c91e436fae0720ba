package machine

import (
	"context"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Cache is how much of some files lies in the page cache.
type Cache struct {
	Known    bool    `json:"known"`    // false: the kernel does not tell it to this user
	Resident float64 `json:"resident"` // share of the bytes that were looked at
	Looked   int     `json:"files_looked_at"`
}

// mostLooked bounds the files that are looked at: of more, evenly spread ones.
const mostLooked = 2000

// LookCache finds out how much of n files is in memory; path names them.
func LookCache(ctx context.Context, n int64, path func(int64) string) (Cache, error) {
	var c Cache
	var resident, pages int64
	step := max(1, n/mostLooked)
	for i := int64(0); i < n; i += step {
		if err := ctx.Err(); err != nil {
			return Cache{}, err
		}
		in, all, known := inMemory(path(i))
		if !known {
			continue // unreadable files are the run's to report
		}
		resident, pages = resident+in, pages+all
		c.Looked++
	}
	if pages > 0 {
		c.Known, c.Resident = true, float64(resident)/float64(pages)
	}
	return c, nil
}

// inMemory counts a file's pages. Of a file that the user does not own and may not write, the kernel says that all of it is
// in memory: that is not known.
func inMemory(path string) (resident, pages int64, known bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return 0, 0, false
	}
	about, ok := info.Sys().(*syscall.Stat_t)
	if tells := ok && int(about.Uid) == os.Geteuid() || os.Geteuid() == 0 || unix.Access(path, unix.W_OK) == nil; !tells {
		return 0, 0, false
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, false
	}
	defer file.Close()
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, 0, false
	}
	defer func() { _ = unix.Munmap(data) }() // cannot fail for a mapping of ours
	page := int64(os.Getpagesize())
	states := make([]byte, (info.Size()+page-1)/page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)),
		uintptr(unsafe.Pointer(unsafe.SliceData(states))))
	for _, s := range states {
		resident += int64(s & 1)
	}
	return resident, int64(len(states)), errno == 0
}

// DropCache asks the kernel to forget n files, whose pages then come from the disk again.
// Pages that another process has mapped stay, and so do all of a file system in memory.
func DropCache(ctx context.Context, n int64, path func(int64) string) error {
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, err := os.OpenFile(path(i), os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue // the run reports it
		}
		_ = unix.Fdatasync(int(file.Fd())) // pages that are not written yet would stay; not every file system knows it
		err = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
		file.Close()
		if err != nil {
			return &fs.PathError{Op: "fadvise", Path: path(i), Err: err}
		}
	}
	return nil
}
