//go:build !amd64

package csvrow

func best() Variant { return Twin }

func scan(_ Variant, data []byte, delim byte) Counts { return scanTwin(data, delim) }

func parse(_ Variant, l *Layout, buf []byte, from, to, most int, scratch, features, labels []byte) (int, int) {
	return parseTwin(l, buf, from, to, most, scratch, features, labels)
}
