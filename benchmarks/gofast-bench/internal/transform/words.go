package transform

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gofast-org/gofast/gofast/image"
)

// word is one word of the language.
type word struct {
	form, says string
	add        func(b *builder, value string) error
}

var words = []word{
	{"resize=256", "the short side; resize=224x320 is height x width", (*builder).resize},
	{"centercrop=224", "or centercrop=224x320", (*builder).centerCrop},
	{"randomresizedcrop=224", "scale 0.08 to 1, ratio 3/4 to 4/3", (*builder).randomResizedCrop},
	{"randomcrop=224", "or randomcrop=224x320", (*builder).randomCrop},
	{"pad=4", "zeroes on every side", (*builder).pad},
	{"hflip[=0.5]", "random horizontal flip, and its chance", flip("hflip")},
	{"vflip[=0.5]", "random vertical flip, and its chance", flip("vflip")},
	{"grayscale[=3]", "1 or 3 equal channels", (*builder).grayscale},
	{"filter=bilinear", "of the resizes behind it: nearest, box, bilinear, hamming, bicubic, lanczos", (*builder).setFilter},
	{"totensor", "is implied", func(_ *builder, value string) error { return none(value) }},
	{"normalize=imagenet", "or none, or mean/std: normalize=0.5/0.5, normalize=0.49:0.46:0.41/0.23:0.22:0.22", (*builder).normalize},
	{"dtype=float32", "or float16, bfloat16, uint8 (without normalize)", (*builder).setType},
	{"layout=channels_first", "or channels_last", (*builder).layout},
}

// mostSide is the longest side that a plan may ask for.
const mostSide = 1 << 15

func none(value string) error {
	if value != "" {
		return errors.New("it has no value")
	}
	return nil
}

func side(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostSide {
		return 0, fmt.Errorf("%q is no size from 1 to %d", text, mostSide)
	}
	return n, nil
}

// size reads 224 or 224x320, height first. A single number is both sides.
func size(value string) (numbers []int, err error) {
	high, wide, two := strings.Cut(value, "x")
	height, err := side(high)
	if err != nil || !two {
		return []int{height}, err
	}
	width, err := side(wide)
	return []int{height, width}, err
}

func pair(value string) ([]int, error) {
	numbers, err := size(value)
	if len(numbers) == 1 {
		numbers = append(numbers, numbers[0])
	}
	return numbers, err
}

func spell(size []int) string {
	if len(size) == 2 && size[0] != size[1] {
		return fmt.Sprintf("%dx%d", size[0], size[1])
	}
	return strconv.Itoa(size[0])
}

func (b *builder) resize(value string) error {
	numbers, err := size(value)
	if err != nil {
		return err
	}
	text := "resize=" + strconv.Itoa(numbers[0])
	if len(numbers) == 2 {
		text = fmt.Sprintf("resize=%dx%d", numbers[0], numbers[1])
	}
	b.resized(numbers)
	b.filtered(image.Step{"op": "resize", "size": numbers}, text)
	return nil
}

func (b *builder) centerCrop(value string) error {
	numbers, err := pair(value)
	if err != nil {
		return err
	}
	b.size = numbers
	b.step(image.Step{"op": "center_crop", "size": numbers}, "centercrop="+spell(numbers))
	return nil
}

func (b *builder) randomResizedCrop(value string) error {
	numbers, err := pair(value)
	if err != nil {
		return err
	}
	b.size = numbers
	b.filtered(image.Step{"op": "random_resized_crop", "size": numbers, "scale": []float64{0.08, 1}, "ratio": []float64{3. / 4, 4. / 3},
		"log_ratio": []float32{float32(math.Log(3. / 4)), float32(math.Log(4. / 3))}}, "randomresizedcrop="+spell(numbers))
	return nil
}

func (b *builder) randomCrop(value string) error {
	numbers, err := pair(value)
	if err != nil {
		return err
	}
	b.size = numbers
	b.step(image.Step{"op": "random_crop", "size": numbers, "fill": []int{0, 0, 0}, "mode": "constant"}, "randomcrop="+spell(numbers))
	return nil
}

func (b *builder) pad(value string) error {
	n, err := side(value)
	if err != nil {
		return err
	}
	if b.size != nil {
		b.size = []int{b.size[0] + 2*n, b.size[1] + 2*n}
	}
	b.step(image.Step{"op": "pad", "padding": []int{n, n, n, n}, "fill": []int{0, 0, 0}, "mode": "constant"}, "pad="+strconv.Itoa(n))
	return nil
}

func flip(op string) func(*builder, string) error {
	return func(b *builder, value string) error {
		p := 0.5
		if value != "" {
			var err error
			if p, err = strconv.ParseFloat(value, 64); err != nil || !(p >= 0 && p <= 1) {
				return fmt.Errorf("%q is no chance from 0 to 1", value)
			}
		}
		b.step(image.Step{"op": op, "p": p}, op+"="+strconv.FormatFloat(p, 'g', -1, 64))
		return nil
	}
}

func (b *builder) grayscale(value string) error {
	switch value {
	case "", "3":
		b.channels = 3
	case "1":
		b.channels = 1
	default:
		return errors.New("1 or 3 channels")
	}
	b.step(image.Step{"op": "grayscale", "channels": b.channels}, "grayscale="+strconv.Itoa(b.channels))
	return nil
}
