// Package folder finds the files of an image folder, and keeps what it found in
// an index file that is checked and mapped in milliseconds.
//
// A scan gives what torchvision's ImageFolder would, in its order: the classes
// are the directories in the root, the samples of a class are
// sorted(os.walk(class, followlinks=True)), each directory's files sorted, and
// an extension is compared with the lower-case end of a name. So a directory
// named x.jpg is no sample, a broken link of that name is one, and directories
// that cannot be read are passed over (Schema.Unreadable names them). One thing
// differs: where links lead in a circle, torchvision lists the files again and
// again, 40 links deep; here that is an error.
//
// Names are bytes. They are ordered as Python orders the strings that it makes
// of them on a system whose file names are UTF-8: by code point, where a byte
// that is not UTF-8 counts as U+DC00 plus its value (surrogateescape).
//
// Scan reads directories in parallel and takes the type of an entry from the
// directory, so that only links cost a stat. Build keeps the result in an index
// file (layout.go), or in sealed memory where no path is given.
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

// canceled gives the end of a context its kind; other errors stay as they are.
func canceled(err error, path string) error {
	var known *errs.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fail(errs.ErrCanceled, path, "canceled").Because(err)
}
