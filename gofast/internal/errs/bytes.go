package errs

import "fmt"

// Bytes is a size for people, with the number that a limit may be set to: "25.7 MB (25664768 bytes)".
// python/gofast/_core/units.py has the same.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, unit := float64(n)/1000, "kB"
	for _, larger := range []string{"MB", "GB", "TB"} {
		if size < 1000 {
			break
		}
		size, unit = size/1000, larger
	}
	return fmt.Sprintf("%.1f %s (%d bytes)", size, unit, n)
}
