//go:build purego

package steps

// native is false: Go callers use the Go twins.
const native = false
