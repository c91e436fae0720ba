package transform

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofast-org/gofast/gofast/image"
)

// builder is a plan that grows word by word.
type builder struct {
	steps     []image.Step
	texts     []string
	size      []int  // height and width; nil while pictures have several
	filter    string // of the next resize
	spelledBy string // the filter that texts speak of
	channels  int
	normal    bool // normalize was there, none included
	mean, std []float32
	spelled   string // normalize
	dtype     string
	last      bool
}

func (b *builder) step(s image.Step, text string) {
	b.steps, b.texts = append(b.steps, s), append(b.texts, text)
}

// filtered adds a step that has a filter.
func (b *builder) filtered(s image.Step, text string) {
	if b.filter != b.spelledBy {
		b.texts, b.spelledBy = append(b.texts, "filter="+b.filter), b.filter
	}
	s["filter"] = b.filter
	b.step(s, text)
}

// resized is the size behind a resize, where it is known before or named.
func (b *builder) resized(to []int) {
	switch {
	case len(to) == 2:
		b.size = to
	case b.size == nil:
	default:
		height, width := b.size[0], b.size[1]
		if width <= height {
			b.size = []int{to[0] * height / width, to[0]}
		} else {
			b.size = []int{to[0], to[0] * width / height}
		}
	}
}

func (b *builder) setFilter(value string) error {
	known := []string{"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}
	if !slices.Contains(known, value) {
		return fmt.Errorf("%q is none of %s", value, strings.Join(known, ", "))
	}
	b.filter = value
	return nil
}

func (b *builder) setType(value string) error {
	known := []string{"float32", "float16", "bfloat16", "uint8"}
	if !slices.Contains(known, value) {
		return fmt.Errorf("%q is none of %s", value, strings.Join(known, ", "))
	}
	b.dtype = value
	return nil
}

func (b *builder) layout(value string) error {
	switch value {
	case "channels_first", "channels_last":
		b.last = value == "channels_last"
		return nil
	}
	return fmt.Errorf("%q is neither channels_first nor channels_last", value)
}

func (b *builder) normalize(value string) error {
	if b.normal {
		return errors.New("it is there twice")
	}
	b.normal = true
	switch value {
	case "none":
		return nil
	case "imagenet":
		b.mean, b.std = []float32{0.485, 0.456, 0.406}, []float32{0.229, 0.224, 0.225}
		b.spelled = "imagenet"
		return nil
	}
	means, stds, both := strings.Cut(value, "/")
	if !both {
		return errors.New("there is no std")
	}
	var err error
	if b.mean, err = numbers(means); err != nil {
		return err
	}
	if b.std, err = numbers(stds); err != nil {
		return err
	}
	if len(b.mean) != len(b.std) || len(b.mean) != 1 && len(b.mean) != 3 {
		return errors.New("mean and std have one number each, or three")
	}
	if slices.Contains(b.std, 0) {
		return errors.New("std must not be 0")
	}
	b.spelled = spellNumbers(b.mean) + "/" + spellNumbers(b.std)
	return nil
}

func numbers(text string) (values []float32, err error) {
	for part := range strings.SplitSeq(text, ":") {
		v, err := strconv.ParseFloat(part, 32)
		if err != nil || v-v != 0 {
			return nil, fmt.Errorf("%q is no number", part)
		}
		values = append(values, float32(v))
	}
	return values, nil
}

func spellNumbers(values []float32) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatFloat(float64(v), 'g', -1, 32)
	}
	return strings.Join(texts, ":")
}

// mostPixels bounds a finished picture: 1.5 GB as float32.
const mostPixels = 1 << 27

func (b *builder) plan() (image.Plan, string, error) {
	switch {
	case b.size == nil:
		return image.Plan{}, "", errorf("pictures would have several sizes, and a batch has one: end with centercrop=224, or resize=224x224")
	case b.size[0] < 1 || b.size[1] < 1 || b.size[0] > mostSide || b.size[1] > mostSide || b.size[0]*b.size[1] > mostPixels:
		return image.Plan{}, "", errorf("pictures of %dx%d are too large", b.size[0], b.size[1])
	case b.dtype == "uint8" && b.mean != nil:
		return image.Plan{}, "", errorf("normalize makes floats: leave it away, or dtype=uint8")
	case b.channels == 1 && len(b.mean) == 3:
		return image.Plan{}, "", errorf("normalize has three means for one channel")
	}
	steps, texts := slices.Clone(b.steps), slices.Clone(b.texts)
	if b.dtype == "uint8" {
		steps = append(steps, image.Step{"op": "to_uint8"})
	} else {
		steps = append(steps, image.Step{"op": "to_float", "how": "divide"})
	}
	if b.mean != nil {
		steps = append(steps, image.Step{"op": "normalize", "mean": b.mean, "std": b.std})
		texts = append(texts, "normalize="+b.spelled)
	}
	if b.dtype != "float32" {
		texts = append(texts, "dtype="+b.dtype)
	}
	if b.last {
		texts = append(texts, "layout=channels_last")
	}
	output := image.Output{DType: b.dtype, Height: b.size[0], Width: b.size[1], Channels: b.channels, ChannelsLast: b.last}
	return image.Plan{Steps: steps, Output: output}, strings.Join(texts, ","), nil
}
