package store

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// InMemory is a file of sealed memory, for what is not kept on disk.
func InMemory(op, name string, data []byte) (file *os.File, err error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, errs.New(errs.ErrLimit, op, "cannot create shared memory").Because(err)
	}
	file = os.NewFile(uintptr(fd), name)
	if _, err = file.WriteAt(data, 0); err != nil {
		file.Close()
		return nil, errs.New(errs.ErrLimit, op, fmt.Sprintf("cannot fill %d bytes of shared memory", len(data))).Because(err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		file.Close()
		return nil, errs.New(errs.ErrRead, op, "cannot seal shared memory").Because(err)
	}
	return file, nil
}

// Keep makes a second descriptor of a file, which Go does not know about.
func Keep(file *os.File) (int, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, errs.New(errs.ErrRead, "open", "cannot duplicate the descriptor").At(file.Name()).Because(err)
	}
	return fd, nil
}
