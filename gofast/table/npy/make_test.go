package npy

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
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
	f := tabletest.File(t, content)
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

// read is a decoded table with its features as float64.
type read struct {
	tabletest.Decoded
	features []float64
}

func readAll(r table.Reader, sel table.Selection) (read, error) {
	d, err := tabletest.Decode(context.Background(), r, sel, nil, 1<<30)
	if err != nil {
		return read{}, err
	}
	return read{*d, d.Float64s()}, nil
}
