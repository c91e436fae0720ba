package steps

import (
	"fmt"
	"math"
)

// The Go twins of the C functions: the same decisions, one after the other.

func drawTwin(l List, fused bool, from Generators, sizes []Size, records []int32, answers []Answer) (code Code, _ Result) {
	m, ok := loadMersenne(from.Torch)
	p := mersenne{}
	if l.c.python != 0 && ok {
		p, ok = loadPython(from.Python)
	}
	if !ok {
		return Invalid, Result{Text: "this is not the state of a CPU generator"}
	}
	w := walker{stream: stream{next32: m.next32, fused: fused, kept: m.kept}, python: &stream{next32: p.next32}, answers: answers}
	for i, size := range sizes {
		before, python, kept := m, p, w.kept
		code = w.sample(l.steps(), size, records[i*l.Words():(i+1)*l.Words()])
		if code == Ask {
			m, p, w.kept = before, python, kept
		}
		if code != OK {
			break
		}
		w.result.Done++
	}
	m.kept = w.kept
	m.store(from.Torch)
	if l.c.python != 0 {
		p.storePython(from.Python)
	}
	return code, w.result
}

func statelessTwin(l List, seed, epoch uint64, samples []Sample, records []int32) (Code, Result) {
	w := walker{exact: true}
	for i, s := range samples {
		w.stream = *sampleStream(seed, epoch, s)
		w.python = &w.stream
		if code := w.sample(l.steps(), s.Size, records[i*l.Words():(i+1)*l.Words()]); code != OK {
			return code, w.result
		}
		w.result.Done++
	}
	return OK, w.result
}

// walker leads one sample after the other through the steps.
type walker struct {
	stream
	python        *stream // Python's own random; a sample's own stream is both
	exact         bool    // what is computed here is the reference
	answers       []Answer
	height, width int64
	result        Result
}

func (w *walker) raise(format string, args ...any) Code {
	w.result.Text = fmt.Sprintf(format, args...)
	return Raises
}

func (w *walker) sample(steps []step, size Size, record []int32) Code {
	clear(record)
	w.width, w.height = int64(size.Width), int64(size.Height)
	if size.Width < 1 || size.Height < 1 {
		return w.raise("the picture is empty")
	}
	return w.walk(steps, 0, len(steps), record)
}

// walk draws for the steps from..to-1.
func (w *walker) walk(steps []step, from, to int, record []int32) Code {
	for i := from; i < to; i++ {
		s := &steps[i]
		own, code := record[s.record:], OK
		if draw := operations[s.kind].draw; draw != nil {
			code = draw(w, s, own)
		}
		if code == OK && (w.width > math.MaxInt32 || w.height > math.MaxInt32) {
			code = w.raise("the padded picture is too large")
		}
		if code != OK {
			w.result.Step = int32(i)
			return code
		}
		for _, which := range own[:s.happen] {
			at := i + 1
			for range which {
				at += 1 + int(steps[at].inner)
			}
			if code := w.walk(steps, at+1, at+1+int(steps[at].inner), record); code != OK {
				return code
			}
		}
		if s.members > 0 || s.inner > 0 && own[0] == 0 {
			i += int(s.inner)
		}
	}
	return OK
}

func flag(on bool) int32 {
	if on {
		return 1
	}
	return 0
}

func (w *walker) chance(s *step, record []int32) Code {
	record[0] = flag(w.rand() < float32(s.p))
	return OK
}

// whether is chance, where v1 compares float64s.
func (w *walker) whether(s *step, record []int32) Code {
	x := w.rand()
	record[0] = flag(s.version == 1 && float64(x) < float64(s.p) || s.version == 2 && x < float32(s.p))
	return OK
}
