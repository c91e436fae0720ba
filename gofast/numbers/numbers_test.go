package numbers

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func TestTypesHaveNames(t *testing.T) {
	for typ := Uint8; typ <= Bfloat16; typ++ {
		if got := Named(typ.String()); got != typ {
			t.Errorf("%s is %s", typ, got)
		}
		var got Type
		if err := got.UnmarshalText([]byte(typ.String())); got != typ || err != nil {
			t.Errorf("%s is %s, %v", typ, got, err)
		}
		if _, bits := typ.DLPack(); int(bits) != 8*typ.Size() {
			t.Errorf("%s has %d bytes and %d bits", typ, typ.Size(), bits)
		}
	}
	for _, name := range []string{"", "invalid", "int8", "Float32"} {
		if err := new(Type).UnmarshalText([]byte(name)); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResultsAreDense(t *testing.T) {
	spec := Spec{Scale: Multiply, Mean: []float32{0.1, 0.2}, Std: []float32{0.3, 0.4}, Channels: 2}
	for spec.Type = Uint8; spec.Type <= Bfloat16; spec.Type++ {
		size := spec.Type.Size()
		got, want := make([]byte, 2*256*size+1), make([]byte, 2*256*size+1)
		got[len(got)-1], want[len(want)-1] = 0xaa, 0xaa
		spec.Results(got)
		for i := range 2 * 256 {
			spec.Make(Int(int64(i%256)), i/256).Put(spec.Type, want, i)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", spec.Type, got, want)
		}
	}
}

func TestSpecsAreJSON(t *testing.T) {
	for scale := Cast; scale <= Multiply; scale++ {
		spec := Spec{Scale: scale, Mean: []float32{0.1}, Std: []float32{3}, Type: Bfloat16, Channels: 1, Last: true}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var got Spec
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, spec) {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"scale": "unit"}`, `{"dtype": "int8"}`} {
		var got Spec
		if err := json.Unmarshal([]byte(text), &got); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEveryByteIsDividedExactly(t *testing.T) {
	divide, multiply, differ := Spec{Scale: Divide, Type: Float32}, Spec{Scale: Multiply, Type: Float32}, 0
	for v := range int64(256) {
		x := divide.Make(Int(v), 0).float32()
		if x != float32(v)/255 {
			t.Errorf("%d / 255 is %v", v, x)
		}
		if x != multiply.Make(Int(v), 0).float32() {
			differ++
		}
	}
	if differ != 126 {
		t.Errorf("division and product differ in %d bytes", differ)
	}
}

func TestAlikeChannelsAreOne(t *testing.T) {
	for _, c := range []struct {
		mean, std []float32
		want      int
	}{
		{nil, nil, 1},
		{[]float32{1, 1, 1}, []float32{2, 2, 2}, 1},
		{[]float32{1, 1, 2}, []float32{2, 2, 2}, 3},
		{[]float32{1, 1, 1}, []float32{2, 3, 2}, 3},
	} {
		spec := Spec{Mean: c.mean, Std: c.std, Type: Float32, Channels: 3}
		if got := spec.Alike(); got.Channels != c.want || c.mean != nil && len(got.Mean) != c.want {
			t.Errorf("%v %v: %+v", c.mean, c.std, got)
		}
	}
}

func TestHalfAgainstEveryHalf(t *testing.T) {
	toFloat := func(h uint16) float64 {
		exp, sig := int(h>>10&31), float64(h&1023)
		if exp == 0 {
			return math.Ldexp(sig, -24)
		}
		return math.Ldexp(1024+sig, exp-25)
	}
	for h := uint16(0); h < 0x7bff; h++ {
		v, next := toFloat(h), toFloat(h+1)
		mid := (v + next) / 2
		even := h + h&1
		if Float16Bits(v) != h || Float16Bits(mid) != even || Float16Bits(math.Nextafter(mid, 0)) != h || Float16Bits(math.Nextafter(mid, 1e9)) != h+1 {
			t.Fatalf("half %#x: %v %v", h, v, mid)
		}
	}
}
