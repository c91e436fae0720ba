package draw

import "fmt"

// most is the largest number that a range may name.
const most = 1e9

func checkTwin(steps []Step, recordWords int) (Code, Result) {
	for i := range steps {
		if text := steps[i].wrong(len(steps)-i-1, recordWords); text != "" {
			return Invalid, Result{Step: int32(i), Text: fmt.Sprintf("step %d: %s", i, text)}
		}
	}
	return OK, Result{}
}

func (s *Step) wrong(behind, recordWords int) string {
	if s.Kind < 0 || s.Kind >= kinds {
		return "there is no such kind"
	}
	if (s.Kind == RandomCrop || s.Kind == RandomApply) && s.Version != 1 && s.Version != 2 {
		return "version must be 1 or 2"
	}
	if s.Inner < 0 || int(s.Inner) > behind {
		return "there are fewer steps than inner says"
	}
	if s.Record < 0 || int(s.Record)+s.Kind.Words() > recordWords {
		return "its words are not in the record"
	}
	if !(s.P >= 0 && s.P <= most) {
		return "p must be a number from 0 on"
	}
	if min(s.Padding[0], s.Padding[1], s.Padding[2], s.Padding[3]) < 0 {
		return "padding must not be negative"
	}
	switch s.Kind {
	case ColorJitter:
		return s.wrongFactors()
	case RandomErasing:
		return s.wrongBox()
	case RandomResizedCrop:
		if text := s.wrongBox(); text != "" {
			return text
		}
		return s.wrongSize()
	case CenterCrop, RandomCrop:
		return s.wrongSize()
	case Resize:
		return s.wrongResize()
	}
	return ""
}

func (s *Step) wrongSize() string {
	if s.Size[0] < 1 || s.Size[1] < 1 {
		return "size must be positive"
	}
	return ""
}

func (s *Step) wrongResize() string {
	short := s.Size[0] > 0 && s.Size[1] == 0
	both := s.Size[0] > 0 && s.Size[1] > 0 && s.MaxSize == 0
	longest := s.Size == [2]int32{} && s.MaxSize > 0
	if s.MaxSize < 0 || !short && !both && !longest {
		return "size and max_size do not go together"
	}
	if short && s.MaxSize != 0 && s.MaxSize <= s.Size[0] {
		return "max_size must be greater than the short side"
	}
	return ""
}

func ordered(low, high, least, most float64) bool { return least <= low && low <= high && high <= most }

func (s *Step) wrongBox() string {
	switch {
	case !ordered(s.Scale[0], s.Scale[1], 0, most):
		return "scale must be a range from 0 on"
	case !ordered(s.Ratio[0], s.Ratio[1], 1/float64(most), most):
		return "ratio must be a range above 0"
	case !ordered(float64(s.LogRatio[0]), float64(s.LogRatio[1]), -40, 40):
		return "log_ratio must be a range within -40..40"
	}
	return ""
}

func (s *Step) wrongFactors() string {
	for i, r := range s.Factors {
		if s.Jitter>>i&1 != 0 && !ordered(r[0], r[1], -most, most) {
			return "factors must be a range"
		}
	}
	if s.Jitter&^15 != 0 {
		return "jitter has only four factors"
	}
	return ""
}
