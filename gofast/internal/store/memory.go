package store

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// InMemory is the descriptor of sealed memory, for what is not kept on disk. The caller owns it.
func InMemory(op, name string, data []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, errs.New(errs.ErrLimit, op, "cannot create shared memory").Because(err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	if _, err := file.WriteAt(data, 0); err != nil {
		return -1, errs.New(errs.ErrLimit, op, fmt.Sprintf("cannot fill %d bytes of shared memory", len(data))).Because(err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return -1, errs.New(errs.ErrRead, op, "cannot seal shared memory").Because(err)
	}
	return Keep(file)
}

// Keep makes a second descriptor of a file, which Go does not know about.
func Keep(file *os.File) (int, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, errs.New(errs.ErrRead, "open", "cannot duplicate the descriptor").At(file.Name()).Because(err)
	}
	return fd, nil
}
