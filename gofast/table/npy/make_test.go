package npy

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// rawNPY is an .npy file with any header text; it is what numpy writes when the
// text is numpy's.
func rawNPY(version byte, text string, data []byte) []byte {
	b := append([]byte(magic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return append(append(b, text...), data...)
}

// npyOf writes values in the given order of bytes and of dimensions.
func npyOf(descr string, fortran bool, shape string, order binary.ByteOrder, values any) []byte {
	var data bytes.Buffer
	if err := binary.Write(&data, order, values); err != nil {
		panic(err)
	}
	word := "False"
	if fortran {
		word = "True"
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, word, shape)
	return rawNPY(1, text, data.Bytes())
}

// IsZip says whether content claims to be a zip file.
func IsZip(content []byte) bool {
	return bytes.HasPrefix(content, []byte(localMagic)) || bytes.HasPrefix(content, []byte(endMagic))
}

type part struct {
	name string
	data []byte
}

func npzOf(t testing.TB, method uint16, parts ...part) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, p := range parts {
		f, err := w.CreateHeader(&zip.FileHeader{Name: p.name, Method: method})
		if err == nil {
			_, err = f.Write(p.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openBytes opens content as the format it claims to be, under 64 MiB.
func openBytes(t testing.TB, content []byte) (table.Reader, error) {
	t.Helper()
	// In memory: the tests that damage files open thousands.
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	memory := os.NewFile(uintptr(fd), "memory")
	defer memory.Close()
	if _, err := memory.Write(content); err != nil {
		t.Fatal(err)
	}
	f, err := source.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	open := Open
	if IsZip(content) {
		open = OpenNPZ
	}
	r, err := open(f, table.Options{Threads: 2, Limits: limits.Limits{Memory: 64 << 20}})
	if err != nil {
		f.Close()
		return nil, err
	}
	t.Cleanup(func() { r.Close() })
	return r, nil
}

func mustOpen(t testing.TB, content []byte) table.Reader {
	t.Helper()
	r, err := openBytes(t, content)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read is a decoded table: features as float64, labels as their kinds say.
type read struct {
	kind     table.Type
	features []float64
	labels   []byte
	dict     *table.Dictionary
}

// readAll decodes as the engine does: narrow first, then the range's type.
func readAll(r table.Reader, sel table.Selection) (read, error) {
	rows, _ := r.Rows()
	width := 0
	for _, c := range sel.Features {
		width += r.Columns()[c].Width()
	}
	out := read{dict: table.NewDictionary()}
	target := table.Target{Features: table.Matrix{Width: width}}
	for _, c := range sel.Labels {
		kind := table.IntLabel
		if r.Columns()[c].Text {
			kind = table.TextLabel
		} else if r.Columns()[c].Hint == table.Float32 {
			kind = table.FloatLabel
		}
		target.Kinds = append(target.Kinds, kind)
		target.Dict = append(target.Dict, out.dict)
	}
	for _, c := range sel.Features {
		target.Features.Type = max(target.Features.Type, r.Columns()[c].Hint)
	}
	ctx := context.Background()
	for try := 0; ; try++ {
		target.Features.Data = make([]byte, rows*int64(target.Features.RowBytes()))
		target.Labels = make([]byte, rows*8*int64(len(sel.Labels)))
		n, err := r.Decode(ctx, sel, target)
		if err == nil {
			if n != rows {
				return out, fmt.Errorf("decoded %d rows of %d", n, rows)
			}
			break
		}
		if !errors.Is(err, table.ErrNarrow) || try > 0 {
			return out, err
		}
		seen, err := r.Range(ctx, sel)
		if err == nil {
			target.Features.Type, err = seen.Type()
		}
		if err != nil {
			return out, err
		}
	}
	out.kind, out.labels = target.Features.Type, target.Labels
	m := target.Features
	for i := range len(m.Data) / max(m.Type.Size(), 1) {
		switch m.Type {
		case table.Uint8:
			out.features = append(out.features, float64(m.Data[i]))
		case table.Int16:
			out.features = append(out.features, float64(table.View[int16](m.Data)[i]))
		case table.Int32:
			out.features = append(out.features, float64(table.View[int32](m.Data)[i]))
		case table.Int64:
			out.features = append(out.features, float64(table.View[int64](m.Data)[i]))
		case table.Float32:
			out.features = append(out.features, float64(table.View[float32](m.Data)[i]))
		case table.Float64:
			out.features = append(out.features, table.View[float64](m.Data)[i])
		}
	}
	return out, nil
}

// wantError checks the kind, and that the error says where it happened.
func wantError(t testing.TB, err, kind error) {
	t.Helper()
	var own *errs.Error
	if !errors.Is(err, kind) || !errors.As(err, &own) || own.Path == "" {
		t.Errorf("got %v, want %v with a path", err, kind)
	}
}
