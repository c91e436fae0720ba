package draw

import (
	"fmt"
	"math"
)

// The Go twins of the C functions: the same decisions, one after the other.

func drawTwin(steps []Step, fused bool, state *[StateBytes]byte, sizes []Size, recordWords int, records []int32,
	answers []Answer) (Code, Result) {
	code, result := checkTwin(steps, recordWords)
	if code != OK {
		return code, result
	}
	m, ok := loadMersenne(state)
	if !ok {
		return Invalid, Result{Text: "this is not the state of a CPU generator"}
	}
	w := walker{stream: stream{next32: m.next32, fused: fused}, answers: answers}
	for i, size := range sizes {
		before := m
		code = w.sample(steps, size, records[i*recordWords:(i+1)*recordWords])
		if code == Ask {
			m = before
		}
		if code != OK {
			break
		}
		w.result.Done++
	}
	m.store(state)
	return code, w.result
}

func statelessTwin(steps []Step, seed, epoch uint64, samples []Sample, recordWords int, records []int32) (Code, Result) {
	code, result := checkTwin(steps, recordWords)
	if code != OK {
		return code, result
	}
	w := walker{exact: true}
	for i, s := range samples {
		w.stream = *sampleStream(seed, epoch, s)
		if code := w.sample(steps, s.Size, records[i*recordWords:(i+1)*recordWords]); code != OK {
			return code, w.result
		}
		w.result.Done++
	}
	return OK, w.result
}

// walker leads one sample after the other through the steps.
type walker struct {
	stream
	exact         bool // our own exp is the reference
	answers       []Answer
	height, width int64
	result        Result
}

func (w *walker) raise(format string, args ...any) Code {
	w.result.Text = fmt.Sprintf(format, args...)
	return Raises
}

func (w *walker) sample(steps []Step, size Size, record []int32) Code {
	clear(record)
	w.width, w.height = int64(size.Width), int64(size.Height)
	if size.Width < 1 || size.Height < 1 {
		return w.raise("the picture is empty")
	}
	for i := 0; i < len(steps); i++ {
		s := &steps[i]
		own := record[s.Record:]
		if code := w.step(s, own); code != OK {
			w.result.Step = int32(i)
			return code
		}
		if s.Kind == RandomApply && own[0] == 0 {
			i += int(s.Inner)
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

func (w *walker) step(s *Step, record []int32) Code {
	p := float32(s.P)
	switch s.Kind {
	case Resize:
		size := resizedTwin(s, Size{int32(w.width), int32(w.height)})
		if size.Width < 1 || size.Height < 1 {
			return w.raise("height and width must be > 0")
		}
		w.width, w.height = int64(size.Width), int64(size.Height)
	case CenterCrop:
		w.height, w.width = int64(s.Size[0]), int64(s.Size[1])
	case Pad:
		w.width += int64(s.Padding[0]) + int64(s.Padding[2])
		w.height += int64(s.Padding[1]) + int64(s.Padding[3])
	case RandomCrop:
		return w.randomCrop(s, record)
	case RandomResizedCrop:
		return w.randomResizedCrop(s, record)
	case HFlip, VFlip, RandomGrayscale:
		record[0] = flag(w.rand() < p)
	case ColorJitter:
		w.colorJitter(s, record)
	case RandomErasing:
		if w.rand() < p {
			return w.erase(s, record)
		}
	case RandomApply:
		x := w.rand()
		record[0] = flag(s.Version == 1 && !(p < x) || s.Version == 2 && x < p)
	}
	if w.width > math.MaxInt32 || w.height > math.MaxInt32 {
		return w.raise("the padded picture is too large")
	}
	return OK
}

func (w *walker) randomCrop(s *Step, record []int32) Code {
	height, width := int64(s.Size[0]), int64(s.Size[1])
	padded := [2]int64{w.height + int64(s.Padding[1]) + int64(s.Padding[3]), w.width + int64(s.Padding[0]) + int64(s.Padding[2])}
	if s.PadIfNeeded != 0 {
		padded[0] += 2 * max(height-padded[0], 0)
		padded[1] += 2 * max(width-padded[1], 0)
	}
	if padded[0] < height || padded[1] < width {
		kind, end := "", ""
		if s.Version == 2 {
			end = "."
			if s.Padded != 0 {
				kind = "padded "
			}
		}
		return w.raise("Required crop size (%d, %d) is larger than %sinput image size (%d, %d)%s",
			height, width, kind, padded[0], padded[1], end)
	}
	always := s.Version == 1 && (padded[0] != height || padded[1] != width)
	if always || padded[0] > height {
		record[0] = w.below(padded[0] - height + 1)
	}
	if always || padded[1] > width {
		record[1] = w.below(padded[1] - width + 1)
	}
	w.height, w.width = height, width
	return OK
}

func (w *walker) randomResizedCrop(s *Step, record []int32) Code {
	for range 10 {
		width, height, ok := w.box(s)
		if !ok {
			return Ask
		}
		if 0 < width && width <= float64(w.width) && 0 < height && height <= float64(w.height) {
			record[0] = w.below(w.height - int64(height) + 1)
			record[1] = w.below(w.width - int64(width) + 1)
			record[2], record[3] = int32(height), int32(width)
			w.height, w.width = int64(s.Size[0]), int64(s.Size[1])
			return OK
		}
	}
	height, width := float64(w.height), float64(w.width)
	if ratio := width / height; ratio < s.Ratio[0] {
		height = math.RoundToEven(width / s.Ratio[0])
	} else if ratio > s.Ratio[1] {
		width = math.RoundToEven(height * s.Ratio[1])
	}
	record[0], record[1] = int32((w.height-int64(height))/2), int32((w.width-int64(width))/2)
	record[2], record[3] = int32(height), int32(width)
	w.height, w.width = int64(s.Size[0]), int64(s.Size[1])
	return OK
}

func (w *walker) erase(s *Step, record []int32) Code {
	for range 10 {
		height, width, ok := w.box(s)
		if !ok {
			return Ask
		}
		if height < float64(w.height) && width < float64(w.width) {
			record[0] = 1
			record[1] = w.below(w.height - int64(height) + 1)
			record[2] = w.below(w.width - int64(width) + 1)
			record[3], record[4] = int32(height), int32(width)
			return OK
		}
	}
	return OK
}

func (w *walker) colorJitter(s *Step, record []int32) {
	order := [4]int32{0, 1, 2, 3}
	for i := range 3 {
		z := i + int(w.next32()%uint32(4-i))
		order[i], order[z] = order[z], order[i]
	}
	for i := range 4 {
		record[i] = order[i]
		if s.Jitter>>order[i]&1 == 0 {
			record[i] = -1
		}
	}
	for i, r := range s.Factors {
		if s.Jitter>>i&1 != 0 {
			record[4+i] = int32(math.Float32bits(w.uniform(r[0], r[1])))
		}
	}
}
