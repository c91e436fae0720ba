// Package numbers says what numbers are made of stored ones: the scale, mean and std, the type and the layout of the
// results. There is one description, Spec, and one arithmetic, Spec.Make, for the rows of tables and the pixels of
// pictures. Bytes go through tables of all 256 results (codes.go), which that arithmetic makes.
package numbers

import "github.com/gofast-org/gofast/gofast/internal/errs"

// Scale is what happens to a number before mean and std, in numbers.h's order.
type Scale int32

// The scales.
const (
	Cast     Scale = iota // none: as v2.ToDtype does without scale
	Divide                // by 255, as ToTensor does
	Multiply              // by float32(1/255), as v2.ToDtype(scale=True) does; it differs in 126 of 256 bytes
)

var scales = [...]string{"cast", "divide", "multiply"}

// String is the scale's name in a plan.
func (s Scale) String() string { return scales[s] }

// MarshalText is String for JSON.
func (s Scale) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse.
func (s *Scale) UnmarshalText(name []byte) error {
	for i, known := range scales {
		if known == string(name) {
			*s = Scale(i)
			return nil
		}
	}
	return errs.New(errs.ErrConfig, "scale", "the scale is not one of cast, divide, multiply").WithCell(string(name))
}

// Spec says what is made of a sample's numbers.
type Spec struct {
	Scale Scale `json:"scale"`
	// Mean is subtracted, then Std divides, each rounded to float32: a value a channel, or both nil.
	Mean     []float32 `json:"mean"`
	Std      []float32 `json:"std"`
	Type     Type      `json:"dtype"`    // integers: only of integers that fit, without scale, mean and std
	Channels int       `json:"channels"` // of a sample
	Last     bool      `json:"last"`     // channels last: the values of a pixel lie side by side, not those of a channel
}

// Arithmetic says that numbers are not only converted.
func (s *Spec) Arithmetic() bool { return !s.Type.Integer() && (s.Scale != Cast || s.Mean != nil) }

// Alike is the same with one channel, where all channels are treated alike.
func (s *Spec) Alike() Spec {
	one := *s
	for c := range s.Mean {
		if s.Mean[c] != s.Mean[0] || s.Std[c] != s.Std[0] {
			return one
		}
	}
	one.Channels = 1
	if s.Mean != nil {
		one.Mean, one.Std = s.Mean[:1], s.Std[:1]
	}
	return one
}

// Make is what becomes of a number of channel c, before it is stored as Type: every step is rounded to float32.
func (s *Spec) Make(v Value, c int) Value {
	if !s.Arithmetic() {
		return v
	}
	x := v.float32()
	switch s.Scale {
	case Divide:
		x /= 255
	case Multiply:
		x = float32(x * float32(1.0/255.0))
	}
	if s.Mean != nil {
		// The conversion keeps the compiler from fusing the two steps.
		x = float32(x-s.Mean[c]) / s.Std[c]
	}
	return Single(x)
}

// Results writes what becomes of every byte, in every channel, into memory of Channels x 256 x Type.Size() bytes.
func (s *Spec) Results(dst []byte) {
	bytes := 256 * s.Type.Size()
	for c := range s.Channels {
		s.results(c, dst[c*bytes:][:bytes])
	}
}

func (s *Spec) results(c int, dst []byte) {
	for v := range 256 {
		s.Make(Int(int64(v)), c).Put(s.Type, dst, v)
	}
}
