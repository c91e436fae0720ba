//go:build twins

package pixel

func (n Normaliser) planar(src, out [3][]byte) { PlanarGeneric(&n.spec, src, out) }

func (n Normaliser) rgbx(src []byte, out [3][]byte) { RGBXGeneric(&n.spec, src, out) }
