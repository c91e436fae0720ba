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
)

// Default is what torchvision's classifiers are evaluated with.
const Default = "resize=256,centercrop=224,normalize=imagenet"

// word is a word of the language, with its usual value.
type word struct {
	name, value, says string
	step              string // the plan's; %s is the value
}

const filter = `"filter":"bilinear"`

var words = []word{
	{"resize", "256", "the short side; resize=224x320 is height x width", `{"op":"resize","size":%s,` + filter + `}`},
	{"centercrop", "224", "or centercrop=224x320", `{"op":"center_crop","size":%s}`},
	{"randomresizedcrop", "224", "scale 0.08 to 1, ratio 3/4 to 4/3", `{"op":"random_resized_crop","size":%s,"scale":[0.08,1],` +
		`"ratio":[0.75,1.3333333333333333],"log_ratio":[-0.28768207,0.28768207],` + filter + `}`},
	{"randomcrop", "224", "or randomcrop=224x320", `{"op":"random_crop","size":%s,"fill":[0,0,0],"mode":"constant"}`},
	{"hflip", "0.5", "random horizontal flip, and its chance", `{"op":"hflip","p":%s}`},
	{"vflip", "0.5", "random vertical flip, and its chance", `{"op":"vflip","p":%s}`},
	{"grayscale", "3", "1 or 3 equal channels", `{"op":"grayscale","channels":%s}`},
	{"normalize", "imagenet", "or mean/std: normalize=0.5/0.5, normalize=0.49:0.46:0.41/0.23:0.22:0.22", `{"op":"normalize","mean":[%s],"std":[%s]}`},
	{"dtype", "float32", "or float16, bfloat16, uint8 (without normalize)", ""},
	{"layout", "channels_first", "or channels_last", ""},
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
	made, normalize := output{DType: "float32", Channels: 3}, ""
	var steps, texts []string
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		if part = strings.ReplaceAll(part, " ", ""); part == "" {
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
		step, err := w.read(value, &made)
		if err != nil {
			return plan, "", fmt.Errorf("%s: %w; write %s=%s", part, err, w.name, w.value)
		}
		switch {
		case name == "normalize":
			normalize = step
		case step != "":
			steps = append(steps, step)
		}
		texts = append(texts, w.name+"="+value)
	}
	switch {
	case made.Height == 0:
		return plan, "", fmt.Errorf("pictures would have several sizes, and a batch has one: end with centercrop=224, or resize=224x224")
	case made.DType == "uint8" && normalize != "":
		return plan, "", fmt.Errorf("normalize makes floats: leave it away, or dtype=uint8")
	case made.DType == "uint8":
		steps = append(steps, `{"op":"to_uint8"}`)
	default:
		steps = append(steps, `{"op":"to_float","how":"divide"}`)
	}
	if normalize != "" {
		steps = append(steps, normalize)
	}
	described, err := json.Marshal(made)
	if err != nil {
		return plan, "", err
	}
	plan, err = decode(fmt.Sprintf(`{"steps":[%s],"output":%s}`, strings.Join(steps, ","), described))
	return plan, strings.Join(texts, ","), err
}

// output is the plan's.
type output struct {
	DType    string `json:"dtype"`
	Height   int    `json:"height"`
	Width    int    `json:"width"`
	Channels int    `json:"channels"`
	Last     bool   `json:"channels_last"`
}

// decode reads a plan as the border to Python does. The core checks what is in it.
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

// read is the plan's step of a word with a value, and changes what comes out.
func (w *word) read(value string, made *output) (string, error) {
	switch w.name {
	case "resize", "centercrop", "randomresizedcrop", "randomcrop":
		return w.sized(value, made)
	case "normalize":
		if value == "imagenet" {
			value = "0.485:0.456:0.406/0.229:0.224:0.225"
		}
		mean, std, both := strings.Cut(strings.ReplaceAll(value, ":", ","), "/")
		if !both {
			return "", fmt.Errorf("there is no std")
		}
		for part := range strings.SplitSeq(std, ",") {
			if v, err := strconv.ParseFloat(part, 32); err != nil || v == 0 {
				return "", fmt.Errorf("%q is no std", part)
			}
		}
		return fmt.Sprintf(w.step, mean, std), nil
	case "dtype":
		made.DType = value
		return "", nil
	case "layout":
		made.Last = value == "channels_last"
		if !made.Last && value != w.value {
			return "", fmt.Errorf("%q is neither channels_first nor channels_last", value)
		}
		return "", nil
	}
	number, err := strconv.ParseFloat(value, 64)
	most := 1.0 // a chance
	if w.name == "grayscale" {
		most, made.Channels = 3, int(number)
	}
	if err != nil || !(number >= 0 && number <= most) {
		return "", fmt.Errorf("%q is no number from 0 to %g", value, most)
	}
	return fmt.Sprintf(w.step, strconv.FormatFloat(number, 'g', -1, 64)), nil
}

// The largest picture that words may ask for is 1.5 GB as float32.
const (
	mostSide   = 1 << 15
	mostPixels = 1 << 27
)

// sized is a step that has a size: 224, or 224x320, height first.
func (w *word) sized(value string, made *output) (string, error) {
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
	size := fmt.Sprintf("[%d,%d]", height, width)
	if w.name == "resize" && !two { // the short side: the other one is not known
		made.Height, made.Width, size = 0, 0, fmt.Sprintf("[%d]", height)
	}
	return fmt.Sprintf(w.step, size), nil
}
