package newfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	content := func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := Write(path, false, text("first")); err != nil || content() != "first" {
		t.Fatal(err)
	}
	if err := Write(path, false, text("second")); !errors.Is(err, fs.ErrExist) || content() != "first" {
		t.Error(err)
	}
	failed := errors.New("half of it")
	err := Write(path, true, func(w io.Writer) error {
		if err := text("half")(w); err != nil {
			return err
		}
		if content() != "first" {
			t.Error("the file changes before all of it is there")
		}
		return failed
	})
	if !errors.Is(err, failed) || content() != "first" {
		t.Error(err)
	}
	if err := Write(path, true, text("third")); err != nil || content() != "third" {
		t.Error(err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	pipe := filepath.Join(folder, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if Write(pipe, true, text("x")) == nil || Write(folder, true, text("x")) == nil || Write(filepath.Join(folder, "no", "a"), true, text("x")) == nil {
		t.Error("a pipe, a folder or a file of no folder was written")
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe is gone: %v, %v", info, err)
	}
}
