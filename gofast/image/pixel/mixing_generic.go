//go:build twins

package pixel

func mixUp(x, to []float32, samples int, part, rest float32) {
	MixUpGeneric(x, to, samples, part, rest)
}

func cutMix(x, to []byte, c Cut) { CutMixGeneric(x, to, c) }
