//go:build !purego

package draw

// native says that Go callers, too, use the C functions.
const native = true
