//go:build purego

package draw

// native is false: Go callers use the Go twins.
const native = false
