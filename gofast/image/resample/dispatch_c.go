//go:build cgo && !twins

package resample

import "image"

// resize does a complete plan with the best kernels.
func resize(src *image.RGBA, plan Plan) ([]byte, error) {
	r := NewResizer(Best)
	defer r.Close()
	return r.Resize(src, plan)
}
