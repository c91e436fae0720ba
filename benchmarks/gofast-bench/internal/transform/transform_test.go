package transform

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
)

var options = image.Options{PassOrder: "13", MaxPixels: 1 << 20}

// Every word is a plan that compiles, and means the same when its spelling is read.
func TestWordsBecomePlans(t *testing.T) {
	for text, want := range map[string]struct {
		spelled string
		output  image.Output
	}{
		Default:                             {Default, image.Output{DType: numbers.Float32, Height: 224, Width: 224, Channels: 3}},
		" RandomResizedCrop=96x64 , HFLIP ": {"randomresizedcrop=96x64,hflip=0.5", image.Output{DType: numbers.Float32, Height: 96, Width: 64, Channels: 3}},
		"resize=32x48,dtype=uint8":          {"resize=32x48,dtype=uint8", image.Output{DType: numbers.Uint8, Height: 32, Width: 48, Channels: 3}},
		"resize=40x40,randomcrop=40,vflip=1,grayscale=1,normalize=0.5/0.25,dtype=bfloat16,layout=channels_last": {
			"resize=40x40,randomcrop=40,vflip=1,grayscale=1,normalize=0.5/0.25,dtype=bfloat16,layout=channels_last",
			image.Output{DType: numbers.Bfloat16, Height: 40, Width: 40, Channels: 1, ChannelsLast: true}},
		`{"steps": [{"op":"center_crop","size":[8,9]}, {"op":"to_uint8"}], "output": {"dtype":"uint8","height":8,"width":9,"channels":3}}`: {
			`{"steps":[{"op":"center_crop","size":[8,9]},{"op":"to_uint8"}],"output":{"dtype":"uint8","height":8,"width":9,"channels":3}}`,
			image.Output{DType: numbers.Uint8, Height: 8, Width: 9, Channels: 3}},
	} {
		plan, spelled, err := Parse(text)
		if err != nil || spelled != want.spelled || plan.Output != want.output {
			t.Errorf("%q: %q, %+v, %v", text, spelled, plan.Output, err)
			continue
		}
		if again, _, err := Parse(spelled); err != nil || !reflect.DeepEqual(again, plan) {
			t.Errorf("%q: %v, %+v", spelled, err, again)
		}
		program, err := image.NewProgram(plan, image.Files{}, options)
		if err != nil {
			t.Errorf("%q does not compile: %v", text, err)
			continue
		}
		program.Free()
	}
	for _, w := range words {
		if _, _, err := Parse("centercrop=4," + w.name + "=" + w.value + ",centercrop=4"); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

// What is wrong is said by the word, or by the core, which checks every field.
func TestWrongTextsSayWhatThereIs(t *testing.T) {
	for text, says := range map[string]string{
		"": "several sizes", "resize=256": "several sizes", "reszie=256": "randomresizedcrop=224", "resize=": "no size from 1", "resize=99999": "no size from 1",
		"resize=2x": "no size from 1", "centercrop=-4": "no size from 1", "centercrop=4,hflip=2": "from 0 to 1", "centercrop=4,hflip=nan": "from 0 to 1",
		"centercrop=4,normalize=1": "is no std", "centercrop=4,normalize=1/0": "std", "centercrop=4,normalize=1:2/1": "std", "centercrop=4,normalize=inf/1": "no plan",
		"centercrop=4,dtype=int8": "int8", "centercrop=4,layout=x": "channels_last", "centercrop=4,grayscale=2": "channels", "centercrop=32768": "pixels",
		"centercrop=4,dtype=uint8,normalize=imagenet": "leave it away", "centercrop=4,grayscale=1,normalize=imagenet": "", `{"steps": 1}`: "no plan", `{"stages": []}`: "no plan",
	} {
		plan, _, err := Parse(text)
		if err == nil {
			var program image.Program
			if program, err = image.NewProgram(plan, image.Files{}, options); err == nil {
				program.Free()
			}
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}
