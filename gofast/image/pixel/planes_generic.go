//go:build twins

package pixel

func (l Level) split(src []byte, stride, x, y int, p Planes) { SplitGeneric(src, stride, x, y, p) }

func (l Level) join(p Planes, dst []byte, stride int) { JoinGeneric(p, dst, stride) }

func (l Level) hflip(p Planes) { HFlipGeneric(p) }

func (l Level) vflip(p Planes) { VFlipGeneric(p) }

func (l Level) window(src Planes, x, y int, edge Edge, fill [3]byte, dst Planes) {
	WindowGeneric(src, x, y, edge, fill, dst)
}

func (l Level) grey(p Planes, channels int) { GreyGeneric(p, channels) }

func (l Level) brightness(p Planes, factor float32) { BrightnessGeneric(p, factor) }

func (l Level) contrast(p Planes, factor float32) { ContrastGeneric(p, factor) }

func (l Level) saturation(p Planes, factor float32) { SaturationGeneric(p, factor) }

func (l Level) hue(p Planes, factor float64) { HueGeneric(p, factor) }

func (l Level) blur(src Planes, x, y []float32, dst Planes) { BlurGeneric(src, x, y, dst) }

func (n Normaliser) erase(sample []byte, width, height int, box Box, value [3]float32) {
	EraseGeneric(&n.spec, sample, width, height, box, value)
}
