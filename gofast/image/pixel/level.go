package pixel

// Level is an instruction set. Best is what to use; tests force each.
type Level int

// The instruction sets, in pixel.h's order.
const (
	Plain Level = iota
	AVX2
	AVX512
)
