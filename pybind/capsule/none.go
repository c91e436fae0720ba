//go:build !python

// Package capsule is the per-batch border to Python; without the build tag
// python there is no Python to talk to.
package capsule

// Address is 0: there is no module.
func Address() uintptr { return 0 }
