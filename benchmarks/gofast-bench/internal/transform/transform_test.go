package transform

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
)

func TestWordsBecomeSteps(t *testing.T) {
	for _, c := range []struct {
		text, spelled string
		ops           []string
		output        image.Output
	}{
		{Default, Default, []string{"resize", "center_crop", "to_float", "normalize"}, image.Output{DType: "float32", Height: 224, Width: 224, Channels: 3}},
		{" RandomResizedCrop=96x64 , HFLIP ", "randomresizedcrop=96x64,hflip=0.5", []string{"random_resized_crop", "hflip", "to_float"}, image.Output{DType: "float32", Height: 96, Width: 64, Channels: 3}},
		{"resize=32x48,totensor,normalize=none,dtype=uint8", "resize=32x48,dtype=uint8", []string{"resize", "to_uint8"}, image.Output{DType: "uint8", Height: 32, Width: 48, Channels: 3}},
		{"filter=bicubic,resize=40x40,pad=4,randomcrop=40,vflip=1,grayscale=1,normalize=0.5/0.25,dtype=bfloat16,layout=channels_last",
			"filter=bicubic,resize=40x40,pad=4,randomcrop=40,vflip=1,grayscale=1,normalize=0.5/0.25,dtype=bfloat16,layout=channels_last",
			[]string{"resize", "pad", "random_crop", "vflip", "grayscale", "to_float", "normalize"}, image.Output{DType: "bfloat16", Height: 40, Width: 40, Channels: 1, ChannelsLast: true}},
		{"centercrop=100x50,resize=25", "centercrop=100x50,resize=25", []string{"center_crop", "resize", "to_float"}, image.Output{DType: "float32", Height: 50, Width: 25, Channels: 3}},
	} {
		plan, spelled, err := Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var ops []string
		for _, s := range plan.Steps {
			ops = append(ops, s["op"].(string))
		}
		if spelled != c.spelled || !reflect.DeepEqual(ops, c.ops) || plan.Output != c.output {
			t.Errorf("%q: %q, %v, %+v", c.text, spelled, ops, plan.Output)
		}
	}
}

func TestWrongTextsSayWhatThereIs(t *testing.T) {
	for text, says := range map[string]string{
		"":                             "several sizes",
		"resize=256":                   "several sizes",
		"reszie=256":                   "randomresizedcrop=224",
		"resize":                       "write resize=256",
		"resize=":                      "has no value",
		"resize=0":                     "no size from 1",
		"resize=99999":                 "no size from 1",
		"resize=2x":                    "no size from 1",
		"centercrop=-4":                "no size from 1",
		"centercrop=4,hflip=2":         "chance",
		"centercrop=4,hflip=nan":       "chance",
		"centercrop=4,normalize=1":     "no std",
		"centercrop=4,normalize=1/0":   "must not be 0",
		"centercrop=4,normalize=1:2/1": "one number each",
		"centercrop=4,normalize=inf/1": "no number",
		"centercrop=4,dtype=int8":      "float32",
		"centercrop=4,layout=x":        "channels_last",
		"centercrop=4,filter=sharp":    "bicubic",
		"centercrop=4,totensor=1":      "no value",
		"centercrop=4,grayscale=2":     "1 or 3",
		"centercrop=32768":             "too large",
		"centercrop=4,dtype=uint8,normalize=imagenet": "leave it away",
		"centercrop=4,grayscale=1,normalize=imagenet": "three means",
		"centercrop=4,normalize=none,normalize=none":  "twice",
	} {
		_, _, err := Parse(text)
		var known *Error
		if !errors.As(err, &known) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

// What is accepted compiles, its spelling is accepted too, and means the same.
func FuzzParse(f *testing.F) {
	f.Add(Default)
	f.Add("filter=box,randomresizedcrop=96x64,hflip=.1,pad=3,grayscale=1,normalize=0.5/0.25,dtype=float16,layout=channels_last")
	f.Add("resize=32x48,resize=5,vflip,randomcrop=4,dtype=uint8")
	f.Add("centercrop=1,normalize=-1:2:1e-40/3:4:5")
	f.Fuzz(func(t *testing.T, text string) {
		plan, spelled, err := Parse(text)
		if err != nil {
			var known *Error
			if !errors.As(err, &known) {
				t.Fatalf("%q: %T", text, err)
			}
			return
		}
		again, same, err := Parse(spelled)
		if err != nil || same != spelled || !reflect.DeepEqual(again, plan) {
			t.Fatalf("%q is spelled %q, and that %q: %v", text, spelled, same, err)
		}
		d, err := gofast.NewPictures(plan, image.Files{}, image.Options{PassOrder: "13", MaxPixels: 1 << 20})
		if err != nil {
			t.Fatalf("%q does not compile: %v", text, err)
		}
		d.Close()
	})
}
