package tfrecord

import "slices"

// partValues is how many values of a series lie side by side.
const partValues = 1 << 16

// series is values that come one by one. What is there is not copied to make room for more: append leaves old copies to the
// collector, together several times the values.
type series[T any] struct {
	full [][]T // parts of partValues
	last []T
}

func (l *series[T]) count() int64 { return int64(len(l.full))*partValues + int64(len(l.last)) }

// next lets the last part have room.
func (l *series[T]) next() {
	switch n := len(l.last); {
	case n == partValues:
		l.full = append(l.full, l.last)
		l.last = make([]T, 0, partValues)
	case n == cap(l.last): // append alone grows by a quarter at a time
		l.last = slices.Grow(l.last, min(max(n, 16), partValues-n))
	}
}

// expect lets so many values have room at once, or as many of them as lie side by side. There are none yet.
func (l *series[T]) expect(n int64) { l.last = make([]T, 0, min(n, partValues)) }

func (l *series[T]) add(value T) {
	l.next()
	l.last = append(l.last, value)
}

// room adds n values, or as many of them as lie side by side, for the caller to write.
func (l *series[T]) room(n int) []T {
	l.next()
	before := len(l.last)
	n = min(n, partValues-before)
	l.last = slices.Grow(l.last, n)[:before+n]
	return l.last[before:]
}

// at is the value of a number.
func (l *series[T]) at(i int64) T {
	if part := int(i / partValues); part < len(l.full) {
		return l.full[part][i%partValues]
	}
	return l.last[i-int64(len(l.full))*partValues]
}

// cut forgets the values from a number on.
func (l *series[T]) cut(count int64) {
	part := min(int(count/partValues), len(l.full))
	if part < len(l.full) {
		l.last, l.full = l.full[part], l.full[:part]
	}
	l.last = l.last[:count-int64(part)*partValues]
}

// parts are all values, in order.
func (l *series[T]) parts() [][]T { return append(slices.Clip(l.full), l.last) }
