//go:build twins

package steps

// native is false: Go callers use the Go twins.
const native = false
