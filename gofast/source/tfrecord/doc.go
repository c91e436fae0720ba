// Package tfrecord reads TFRecord files of tf.train.Example: where the values of features lie, and which they are.
//
// A file is read once, from front to back. Both checksums of each record are compared (records.go), and its Example is
// taken apart (example.go). Numbers become columns, and of bytes it is kept where they lie (columns.go). The result is an
// index (index.go), which is mapped, and kept on disk until a file changes.
//
// WebDataset's tar files become the same index (tar.go; tarfile.go reads headers, window.go their bytes): a sample is a record, a suffix a feature.
// So do shards of mosaicml-streaming and litData (mds.go), and a column of pictures in Parquet and Arrow files (table.go), which the rooms
// of tables find. The index of one tar file may lie beside it, and go with it to other machines (shards.go). A tar file that is
// compressed is unpacked first, into a file (packed.go).
//
// TensorFlow and protobuf disagree about what some odd Examples mean: here these are errors. What ends inside a record is an
// error too, also where TensorFlow takes it for the end of the file: within the 12 bytes of a header.
package tfrecord

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

const op = "tfrecord"

func fail(kind error, format string, args ...any) *errs.Error {
	return errs.New(kind, op, fmt.Sprintf(format, args...))
}
