package pixel

import "github.com/gofast-org/gofast/gofast/numbers"

// PlanarGeneric is the plain twin of gf_normalise's planar.
func PlanarGeneric(spec *Spec, src, out [3][]byte) {
	for c := range spec.Channels {
		for i, v := range src[c] {
			spec.put(out, c, i, v)
		}
	}
}

// RGBXGeneric is the plain twin of gf_normalise's rgbx.
func RGBXGeneric(spec *Spec, src []byte, out [3][]byte) {
	for i := range len(src) / 4 {
		for c := range 3 {
			spec.put(out, c, i, src[4*i+c])
		}
	}
}

// put stores byte v of channel c of pixel i.
func (s *Spec) put(out [3][]byte, c, i int, v byte) {
	s.store(out, c, i, s.Make(numbers.Int(int64(v)), c))
}

// store converts x to the output type once, for channel c of pixel i.
func (s *Spec) store(out [3][]byte, c, i int, x numbers.Value) {
	if s.Last {
		x.Put(s.Type, out[0], s.Channels*i+c)
	} else {
		x.Put(s.Type, out[c], i)
	}
}
