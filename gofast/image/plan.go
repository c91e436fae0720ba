// Package image makes samples of picture files: decode, crop, resize, colour and
// normalise, in one C function a sample (image.h), so that engine threads and
// forked worker processes do the same. A Plan says what is made; it comes from
// Python as JSON, which the compiler of torchvision's transforms writes.
package image

import "github.com/gofast-org/gofast/gofast/image/steps"

// Plan is what is made of every picture: Steps in their order on RGB bytes,
// then the Output.
type Plan struct {
	Steps  []Step `json:"steps"`
	Output Output `json:"output"`
}

// Step is one operation of a plan.
type Step = steps.Step

// maxPixels bounds what Options may allow: four bytes each, in C.
const maxPixels = 1 << 30
