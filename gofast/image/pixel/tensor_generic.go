//go:build twins

package pixel

func (l Level) grid(src Planes, g Grid, dst Planes) { GridGeneric(src, g, dst) }

func (l Level) tensorGreySum(p Planes, fused bool) uint64 { return TensorGreySumGeneric(p, fused) }

func (l Level) tensorSaturate(src Planes, b Blend, dst Planes) { TensorSaturateGeneric(src, b, dst) }

func (l Level) tensorSharpen(src Planes, b Blend, dst Planes) { TensorSharpenGeneric(src, b, dst) }

func (l Level) tensorHue(p Planes, turn float32, version int) { TensorHueGeneric(p, turn, version) }

func (l Level) mix(sources []Planes, weights []float32, dst Planes) {
	MixGeneric(sources, weights, dst)
}
