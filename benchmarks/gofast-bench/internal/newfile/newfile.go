// Package newfile writes files that are there completely or not at all.
package newfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Write makes a file of what write gives. A file that is there already is replaced if replace says so, and else
// fs.ErrExist; what is no file, such as a device or a pipe, is never replaced. Whoever looks meanwhile sees the old one.
func Write(path string, replace bool, write func(io.Writer) error) error {
	if info, err := os.Lstat(path); err == nil {
		if !replace {
			return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		}
		if !info.Mode().IsRegular() {
			return &fs.PathError{Op: "create", Path: path, Err: errors.New("is there already, and is no regular file")}
		}
	}
	part := fmt.Sprintf("%s.%d.part", path, os.Getpid()) // beside it: a rename does not leave its file system
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<18)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part) // the first error counts
	}
	return err
}
