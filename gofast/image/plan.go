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
	// What is drawn is the same for a picture of any size, so that one that has changed is made by the same draws.
	AnySize bool `json:"any_size"`
}

// Split is a plan in two at its first draw: certain makes a picture, always the same of the
// same file, and rest makes the plan's samples of that (lazy.h). Each step leaves whole bytes,
// as torchvision's do, so that one may end there: what was fused with the steps behind it comes
// to the same. A picture's record is the same for the plan and for rest, and so are the states
// behind both: what is certain has no words.
func (p Plan) Split() (certain, rest Plan) {
	certain.Steps, rest.Steps = steps.Split(p.Steps)
	rest.Output = p.Output
	return certain, rest
}

// Step is one operation of a plan.
type Step = steps.Step

// maxPixels bounds what Options may allow: four bytes each, in C.
const maxPixels = 1 << 30
