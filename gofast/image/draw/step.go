package draw

// Kind is what a step does; the order is that of draw.h.
type Kind int32

// The kinds. In brackets are the words that they own in a record.
const (
	Other             Kind = iota // neither draws nor changes the size
	Resize                        // Size, MaxSize
	CenterCrop                    // Size
	Pad                           // Padding
	RandomCrop                    // [top, left, both in the padded picture]
	RandomResizedCrop             // [top, left, height, width]
	HFlip                         // [0 or 1]
	VFlip                         // [0 or 1]
	RandomGrayscale               // [0 or 1]
	ColorJitter                   // [4 words order, 4 factors]
	RandomErasing                 // [0 or 1, top, left, height, width]
	RandomApply                   // [0 or 1], then the words of its steps
	kinds
)

// Words is how many words a step of this kind owns in a record.
func (k Kind) Words() int {
	switch k {
	case HFlip, VFlip, RandomGrayscale, RandomApply:
		return 1
	case RandomCrop:
		return 2
	case RandomResizedCrop:
		return 4
	case RandomErasing:
		return 5
	case ColorJitter:
		return 8
	default:
		return 0
	}
}

// Step is one step: a gf_draw_step of draw.h, field for field, where each is
// described. What its kind does not name is zero.
type Step struct {
	Kind        Kind
	Record      int32 // its first word in a record
	Version     int32 // 1: torchvision.transforms, 2: its v2
	Inner       int32 // RandomApply: how many of the steps behind it are its own
	Size        [2]int32
	MaxSize     int32
	PadIfNeeded int32
	Padding     [4]int32
	Padded      int32
	Jitter      int32
	P           float64
	Scale       [2]float64
	Ratio       [2]float64
	Factors     [4][2]float64
	LogRatio    [2]float32
}

// Size is that of a decoded picture.
type Size struct{ Width, Height int32 }

// Sample names a picture to the stateless planner: its place in the dataset,
// and how often that came before in the batch.
type Sample struct {
	Index      int64
	Occurrence int32
	Size       Size
}

// Answer is what torch.exp gave for an X that was asked.
type Answer struct{ X, Value float32 }

// Code is how a call ended.
type Code int32

// The codes; see draw.h.
const (
	OK      Code = iota
	Ask          // answer Result.Ask, and call again from sample Result.Done
	Raises       // torchvision raises ValueError(Result.Text) for sample Result.Done
	Invalid      // the steps or the state are not what they must be; nothing was drawn
)

// Result says how far a call went.
type Result struct {
	Done int64 // samples whose records are written
	Ask  float32
	Step int32 // the one in trouble
	Text string
}

// StateBytes is the size of torch's state of a CPU generator.
const StateBytes = 5056
