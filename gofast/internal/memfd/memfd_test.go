package memfd

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func made(t *testing.T) *os.File {
	t.Helper()
	file, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if _, err := file.Write(make([]byte, 1<<16)); err != nil {
		t.Fatal(err)
	}
	return file
}

// A pipe that was spliced to holds pages, as the kernel's own batches do at times.
func TestMemoryIsSealedWhilePagesAreHeld(t *testing.T) {
	file := made(t)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	at := int64(0)
	if n, err := unix.Splice(int(file.Fd()), &at, pipe[1], nil, 1<<14, 0); err != nil || n == 0 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err != unix.EBUSY {
		t.Fatalf("the pages are not held: %v", err)
	}
	if err := Seal(file.Fd()); err != nil {
		t.Fatal(err)
	}
}

func TestSealedMemoryIsReadAndNotWritten(t *testing.T) {
	file := made(t)
	if err := Seal(file.Fd()); err != nil {
		t.Fatal(err)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(data)
	if unix.Mprotect(data, unix.PROT_READ|unix.PROT_WRITE) == nil {
		t.Error("a mapping for reading became one for writing")
	}
	if _, err := unix.Mmap(int(file.Fd()), 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("it was mapped for writing")
	}
	if _, err := file.WriteAt([]byte("x"), 0); err == nil {
		t.Error("it was written")
	}
	if file.Truncate(1) == nil || file.Truncate(1<<17) == nil {
		t.Error("it changed its size")
	}
	if Seal(file.Fd()) == nil {
		t.Error("its seals changed")
	}
}
