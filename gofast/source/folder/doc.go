// Package folder finds the files of an image folder. It keeps the result in an index
// file, which it can check and map in milliseconds.
//
// A scan gives the samples of torchvision's ImageFolder, in the same order. The
// classes are the directories in the root. The samples of a class are
// sorted(os.walk(class, followlinks=True)), with each directory's files sorted. An
// extension is compared with the lower-case end of a name. So a directory named
// x.jpg is not a sample, but a broken link of that name is one. Directories that
// cannot be read are left out (Schema.Unreadable names them). One thing differs: if
// links lead in a circle, torchvision lists the files again and again, 40 links
// deep; here that is an error, or the link is left out (Options.LeaveCircles).
//
// Names are bytes. Their order is that of Python's strings for them, on a system
// with UTF-8 file names: by code point, and a byte that is not UTF-8 counts as
// U+DC00 plus its value (surrogateescape).
//
// A scan reads directories in parallel. It takes the type of an entry from the
// directory, so only links cost a stat. Build keeps the result in an index file
// (layout.go), or in sealed memory if no path is given.
package folder

import (
	"errors"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

const op = "folder"

func fail(kind error, path, format string, args ...any) *errs.Error {
	return errs.New(kind, op, fmt.Sprintf(format, args...)).At(path)
}

// canceled makes an ErrCanceled of the end of a context; other errors stay as they are.
func canceled(err error, path string) error {
	var known *errs.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fail(errs.ErrCanceled, path, "canceled").Because(err)
}
