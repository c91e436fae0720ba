//go:build !cgo || twins

package resample

import "image"

// resize does a complete plan with the Go twin.
func resize(src *image.RGBA, plan Plan) ([]byte, error) { return ResizeGeneric(src, plan), nil }
