// Package transform reads what a command line makes of pictures: "resize=256,centercrop=224,hflip,normalize=imagenet".
// A word stands for a step of the core's plan, with torchvision's defaults. What no word says is said by the plan
// itself, as JSON.
package transform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// Default is what torchvision's classifiers are evaluated with.
const Default = "resize=256,centercrop=224,normalize=imagenet"

// word is a word of the language, with its usual value.
type word struct {
	name, value, says string
	step              string // the plan's; %s is the value
	read              func(value string, made *image.Output) (string, error)
}

const filter = `"filter":"bilinear"`

var words = []word{
	{"resize", "256", "the short side; resize=224x320 is height x width", `{"op":"resize","size":%s,` + filter + `}`, shortSide},
	{"centercrop", "224", "or centercrop=224x320", `{"op":"center_crop","size":%s}`, size},
	{"randomresizedcrop", "224", "scale 0.08 to 1, ratio 3/4 to 4/3", `{"op":"random_resized_crop","size":%s,"scale":[0.08,1],` +
		`"ratio":[0.75,1.3333333333333333],"log_ratio":[-0.28768207,0.28768207],` + filter + `}`, size},
	{"randomcrop", "224", "or randomcrop=224x320", `{"op":"random_crop","size":%s,"fill":[0,0,0],"mode":"constant"}`, size},
	{"hflip", "0.5", "random horizontal flip, and its chance", `{"op":"hflip","p":%s}`, chance},
	{"vflip", "0.5", "random vertical flip, and its chance", `{"op":"vflip","p":%s}`, chance},
	{"grayscale", "3", "1 or 3 equal channels", `{"op":"grayscale","channels":%s}`, channels},
	{"normalize", "imagenet", "or mean/std: normalize=0.5/0.5, normalize=0.49:0.46:0.41/0.23:0.22:0.22", `{"op":"normalize",%s}`, normalize},
	{"dtype", "float32", "or float16, bfloat16, uint8 (without normalize)", "", func(value string, made *image.Output) (string, error) {
		return "", made.DType.UnmarshalText([]byte(value))
	}},
	{"layout", "channels_first", "or channels_last", "", func(value string, made *image.Output) (string, error) {
		if made.ChannelsLast = value == "channels_last"; !made.ChannelsLast && value != "channels_first" {
			return "", fmt.Errorf("%q is neither channels_first nor channels_last", value)
		}
		return "", nil
	}},
}

// Words lists the language, a word a line.
func Words() string {
	var s strings.Builder
	for _, w := range words {
		fmt.Fprintf(&s, "  %-28s %s\n", w.name+"="+w.value, w.says)
	}
	return s.String() + "  {\"steps\": [...], ...}        the core's plan as JSON (gofast/image/plan.go), for everything else"
}

// Parse makes the plan of a text. The second result is the text with all values, so that equal work has equal texts.
func Parse(text string) (plan image.Plan, spelled string, err error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		var compact bytes.Buffer
		if plan, err = decode(text); err == nil {
			err = json.Compact(&compact, []byte(text))
		}
		return plan, compact.String(), err
	}
	made := image.Output{DType: numbers.Float32, Channels: 3}
	var steps, last, texts []string
	for part := range strings.SplitSeq(strings.ToLower(strings.ReplaceAll(text, " ", "")), ",") {
		if part == "" {
			continue
		}
		name, value, given := strings.Cut(part, "=")
		w := find(name)
		if w == nil {
			return plan, "", fmt.Errorf("%q is no transform; there are:\n%s", name, Words())
		}
		if !given {
			value = w.value
		}
		field, err := w.read(value, &made)
		if err != nil {
			return plan, "", fmt.Errorf("%s: %w; write %s=%s", part, err, w.name, w.value)
		}
		texts = append(texts, w.name+"="+value)
		switch {
		case name == "normalize": // behind the floats
			last = []string{fmt.Sprintf(w.step, field)}
		case w.step != "":
			steps = append(steps, fmt.Sprintf(w.step, field))
		}
	}
	if made.Height == 0 {
		return plan, "", fmt.Errorf("pictures would have several sizes, and a batch has one: end with centercrop=224, or resize=224x224")
	}
	ending := `{"op":"to_float","how":"divide"}`
	if made.DType == numbers.Uint8 {
		if ending = `{"op":"to_uint8"}`; last != nil {
			return plan, "", fmt.Errorf("normalize makes floats: leave it away, or dtype=uint8")
		}
	}
	plan, err = decode(`{"steps":[` + strings.Join(append(append(steps, ending), last...), ",") + `]}`)
	plan.Output = made
	return plan, strings.Join(texts, ","), err
}

// decode reads a plan as the border to Python does.
func decode(text string) (plan image.Plan, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(&plan); err != nil {
		err = fmt.Errorf("this is no plan: %w", err)
	}
	return plan, err
}

func find(name string) *word {
	for i := range words {
		if words[i].name == name {
			return &words[i]
		}
	}
	return nil
}

func chance(value string, _ *image.Output) (string, error) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return "", fmt.Errorf("%q is no number from 0 to 1", value)
	}
	return strconv.FormatFloat(v, 'g', -1, 64), nil
}

func channels(value string, made *image.Output) (text string, err error) {
	made.Channels, err = strconv.Atoi(value)
	return value, err
}

func normalize(value string, _ *image.Output) (string, error) {
	if value == "imagenet" {
		value = "0.485:0.456:0.406/0.229:0.224:0.225"
	}
	mean, std, both := strings.Cut(strings.ReplaceAll(value, ":", ","), "/")
	for part := range strings.SplitSeq(std, ",") {
		if v, err := strconv.ParseFloat(part, 32); !both || err != nil || v == 0 {
			return "", fmt.Errorf("%q is no std", part)
		}
	}
	return fmt.Sprintf(`"mean":[%s],"std":[%s]`, mean, std), nil
}

// The largest picture that words may ask for is 1.5 GB as float32.
const (
	mostSide   = 1 << 15
	mostPixels = 1 << 27
)

// size is 224, or 224x320, height first.
func size(value string, made *image.Output) (string, error) {
	high, wide, two := strings.Cut(value, "x")
	if !two {
		wide = high
	}
	height, err1 := strconv.ParseUint(high, 10, 16)
	width, err2 := strconv.ParseUint(wide, 10, 16)
	if err1 != nil || err2 != nil || min(height, width) < 1 || max(height, width) > mostSide || height*width > mostPixels {
		return "", fmt.Errorf("%q is no size from 1 to %d, of at most %d pixels", value, mostSide, mostPixels)
	}
	made.Height, made.Width = int(height), int(width)
	return fmt.Sprintf("[%d,%d]", height, width), nil
}

// shortSide is a size, or one side of it: then the other one is not known.
func shortSide(value string, made *image.Output) (string, error) {
	text, err := size(value, made)
	if err == nil && !strings.Contains(value, "x") {
		made.Height, made.Width, text = 0, 0, "["+value+"]"
	}
	return text, err
}
