// Package memfd makes memory that has a descriptor, and seals it when it is written.
package memfd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// New makes memory without content.
func New(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Seal lets nobody write to memory, or give it another size. Its makers have unmapped it.
//
// The seal is F_SEAL_FUTURE_WRITE. F_SEAL_WRITE fails with EBUSY while anything of the kernel's holds a page,
// which happens to fresh memory now and then. And Linux before 6.7 maps nothing that has it as shared, not even
// for reading. Linux before 5.1 has no such seal: its memory keeps its size, so that no reader can fault.
func Seal(fd uintptr) error {
	const size = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	_, err := unix.FcntlInt(fd, unix.F_ADD_SEALS, size|unix.F_SEAL_FUTURE_WRITE)
	if errors.Is(err, unix.EINVAL) {
		_, err = unix.FcntlInt(fd, unix.F_ADD_SEALS, size)
	}
	return err
}
