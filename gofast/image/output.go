package image

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// Output is what a sample is: a tensor of a size that every picture has then,
// or, without a size, a picture for Python to go on with.
type Output struct {
	DType        numbers.Type `json:"dtype"` // Float32, Float16, Bfloat16 or Uint8
	Height       int          `json:"height"`
	Width        int          `json:"width"`
	Channels     int          `json:"channels"`
	Crops        int          `json:"crops"` // pictures of that size that a sample consists of; 0: it is one
	ChannelsLast bool         `json:"channels_last"`
	// Raw samples are the bytes of which the plan would make numbers, uint8, with nothing
	// erased: Plan.Numbers says what is left to do. The same is drawn for them.
	Raw bool `json:"raw"`
}

func (o Output) isPicture() bool { return o.Height == 0 }

func (o Output) checkPicture(l *steps.Numbers) error {
	switch {
	case l.Tensor:
		return errs.New(errs.ErrConfig, "plan", "a tensor needs a size that every picture has")
	case l.Crops > 0:
		return errs.New(errs.ErrConfig, "plan", "crops end in a tensor")
	case o.Raw:
		return errs.New(errs.ErrConfig, "plan", "a raw sample needs a size that every picture has")
	default:
		return nil
	}
}

// spec checks the output of a tensor, and says what numbers finished samples have.
func (o Output) spec(l *steps.Numbers) (numbers.Spec, error) {
	made := o.DType
	if !pixel.Makes(made) || o.Height < 1 || o.Height > steps.MaxSide || o.Width < 1 || o.Width > steps.MaxSide || o.Channels != 1 && o.Channels != 3 {
		return numbers.Spec{}, errs.New(errs.ErrConfig, "plan", fmt.Sprintf("output %+v", o))
	}
	if l.Float == (made == numbers.Uint8) {
		return numbers.Spec{}, errs.New(errs.ErrConfig, "plan", "output "+made.String()+" does not go with the steps")
	}
	if o.Crops != l.Crops || o.Crops > 0 && (o.ChannelsLast || o.Raw) {
		return numbers.Spec{}, errs.New(errs.ErrConfig, "plan", fmt.Sprintf("output %+v of %d crops", o, l.Crops))
	}
	if len(l.Mean) > 1 && len(l.Mean) != o.Channels {
		return numbers.Spec{}, errs.New(errs.ErrConfig, "plan", fmt.Sprintf("%d means for %d channels", len(l.Mean), o.Channels))
	}
	if o.Raw && !l.Float {
		return numbers.Spec{}, errs.New(errs.ErrConfig, "plan", "the samples are bytes already: leave raw away")
	}
	return numbers.Spec{
		Scale: l.Scale, Mean: spread(l.Mean, o.Channels), Std: spread(l.Std, o.Channels),
		Type: made, Channels: o.Channels, Last: o.ChannelsLast,
	}, nil
}

// spread gives every channel its value.
func spread(values []float32, channels int) []float32 {
	if len(values) != 1 {
		return values
	}
	each := make([]float32, channels)
	for i := range each {
		each[i] = values[0]
	}
	return each
}

// Numbers are what makes a finished sample of a raw one: numbers of its bytes, and
// then the boxes in its record that are erased, each by its value as the type of the
// sample, in their order.
type Numbers struct {
	numbers.Spec
	Erasures []steps.Erasure
}

// TorchWords are those of the plan's records that only torch can compute to the last bit.
func (p Plan) TorchWords() ([]steps.TorchWords, error) {
	list, made, err := steps.Compile(p.Steps)
	if err == nil {
		list.Free()
	}
	return made.TorchWords, err
}

// Numbers says what is left to do to the plan's raw samples; false where that is more
// than a Numbers can say, or there are no raw ones. Then only whole samples will do.
func (p Plan) Numbers() (Numbers, bool, error) {
	list, made, err := steps.Compile(p.Steps)
	if err != nil {
		return Numbers{}, false, err
	}
	list.Free()
	if p.Output.isPicture() {
		return Numbers{}, false, p.Output.checkPicture(&made)
	}
	spec, err := p.Output.spec(&made)
	if err != nil || !made.Float || made.Tangled || made.Crops > 0 {
		return Numbers{}, false, err
	}
	return Numbers{spec, made.Erasures}, true, nil
}
