package errs

import "testing"

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB (1000 bytes)", 25_664_768: "25.7 MB (25664768 bytes)",
		3 << 30: "3.2 GB (3221225472 bytes)", 1 << 60: "1152921.5 TB (1152921504606846976 bytes)",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) is %q, want %q", n, got, want)
		}
	}
}
