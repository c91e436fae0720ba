package steps

/*
#include "operation.h"
static const gf_operation *operation_of(int32_t kind) { return gf_operations[kind]; }
static const char *name_of(int32_t kind) { return gf_step_names[kind]; }
static const gf_field *common_fields(void) { return gf_common_fields; }
static const gf_field *next_field(const gf_field *f) { return f + 1; }
static const char *check(const gf_operation *o, gf_step *step) { return o->check ? o->check(step) : NULL; }
*/
import "C"

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Step is one operation of a plan, named and parametrised as its torchvision original:
// "op" is its name, and the rows of its gf_operation say which fields it has.
type Step map[string]any

// kinds are step.h's, by their names in a plan.
var kinds = func() map[string]word {
	named := map[string]word{}
	for kind := range word(C.GF_STEP_member) {
		named[C.GoString(C.name_of(kind))] = kind
	}
	return named
}()

// Record is what an operation draws: so many words, and what they say (operation.h).
type Record struct {
	Words  int    `json:"words"`
	Fields string `json:"fields"`
}

// Records are those of all operations that draw, by their names in a plan.
func Records() map[string]Record {
	made := map[string]Record{}
	for name, kind := range kinds {
		if of := C.operation_of(kind); of.words > 0 {
			made[name] = Record{int(of.words), C.GoString(of.record)}
		}
	}
	return made
}

func (s Step) op() string { return fmt.Sprint(s["op"]) }

func (s Step) bad(format string, args ...any) error {
	return errs.New(errs.ErrConfig, "plan", s.op()+": "+fmt.Sprintf(format, args...))
}

// laidOut is a step as C has it, with what lies behind it.
type laidOut struct {
	step
	of        *C.gf_operation
	own       []double // its own numbers
	container bool
	members   [][]Step // of a container: its steps, which are one member of random_apply
}

// rows are the fields of an operation.
func rows(of *C.gf_operation) iter.Seq[*C.gf_field] {
	return func(yield func(*C.gf_field) bool) {
		for _, f := range []*C.gf_field{C.common_fields(), of.fields} {
			for ; f != nil && f.name != nil; f = C.next_field(f) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// layOut reads a step by the rows of its operation, and checks it.
func (s Step) layOut() (laidOut, error) {
	kind, known := kinds[s.op()]
	if !known {
		return laidOut{}, s.bad("no such operation")
	}
	l := laidOut{step: step{kind: kind}, of: C.operation_of(kind)}
	names := []string{"op"}
	for f := range rows(l.of) {
		name := C.GoString(f.name)
		names = append(names, name)
		switch value := s[name]; {
		case value == nil && f.how&C.GF_OPTIONAL == 0:
			return l, s.bad("%s is missing", name)
		case value != nil:
			if problem := l.read(f, value); problem != "" {
				return l, s.bad("%s %v %s", name, value, problem)
			}
			l.given |= f.given
		}
	}
	for name := range s {
		if !slices.Contains(names, name) {
			return l, s.bad("it has no %s", name)
		}
	}
	l.version = max(l.version, 1)
	// The operation's own check finds the numbers where the compiler will lay them.
	checked := make([]double, C.sizeof_gf_step/C.sizeof_double, C.sizeof_gf_step/C.sizeof_double+len(l.own))
	c := (*step)(unsafe.Pointer(&checked[0]))
	*c = l.step
	c.numbers, c.count = C.sizeof_gf_step, word(len(l.own))
	if wrong := C.check(l.of, (*step)(unsafe.Pointer(&append(checked, l.own...)[0]))); wrong != nil {
		return l, s.bad("%s", C.GoString(wrong))
	}
	l.step = *c
	return l, nil
}

// read reads a field, and says what is wrong with its value.
func (l *laidOut) read(f *C.gf_field, value any) (problem string) {
	at := unsafe.Add(unsafe.Pointer(&l.step), f.at)
	switch f._type {
	case C.GF_FIELD_NAME:
		which := numberOf(value, f.names)
		if which < 0 {
			return "is unknown"
		}
		*(*word)(at) = which
		return ""
	case C.GF_FIELD_STEPS:
		steps, ok := listOf(value)
		l.container, l.members = true, [][]Step{steps}
		if !ok {
			return "is no list of steps"
		}
		return ""
	case C.GF_FIELD_MEMBERS:
		return l.readMembers(value, int(f.count))
	}
	numbers, ok := numbersIn(value)
	count := int(f.count)
	switch {
	case !ok:
		return "is not of numbers"
	case f._type == C.GF_FIELD_NUMBERS:
		l.own = make([]double, len(numbers))
	case len(numbers) > count || len(numbers) < count && f.how&C.GF_FEWER == 0:
		return fmt.Sprintf("has %d numbers instead of %d", len(numbers), count)
	}
	whole := f._type == C.GF_FIELD_INT32 || f._type == C.GF_FIELD_UINT8
	for i, v := range numbers {
		if !(v >= float64(f.least) && v <= float64(f.most)) || whole && v != math.Trunc(v) {
			return fmt.Sprintf("is not within %v..%v", f.least, f.most)
		}
		if f.how&C.GF_RANGE != 0 && i%2 == 1 && v < numbers[i-1] {
			return "is not a range"
		}
		switch f._type {
		case C.GF_FIELD_INT32:
			*(*word)(unsafe.Add(at, 4*i)) = word(v)
		case C.GF_FIELD_UINT8:
			*(*C.uint8_t)(unsafe.Add(at, i)) = C.uint8_t(v)
		case C.GF_FIELD_FLOAT:
			*(*C.float)(unsafe.Add(at, 4*i)) = C.float(v)
		case C.GF_FIELD_DOUBLE:
			*(*double)(unsafe.Add(at, 8*i)) = double(v)
		default:
			l.own[i] = double(v)
		}
	}
	return ""
}

func (l *laidOut) readMembers(value any, most int) (problem string) {
	l.container = true
	lists, ok := value.([][]Step)
	if given, is := value.([]any); is {
		ok = true
		for _, member := range given {
			steps, is := listOf(member)
			lists, ok = append(lists, steps), ok && is
		}
	}
	if !ok || len(lists) < 1 || len(lists) > most {
		return fmt.Sprintf("are not 1 to %d lists of steps", most)
	}
	l.members, l.step.members = lists, word(len(lists))
	return ""
}

// numberOf is the place of a value among names, or -1.
func numberOf(value any, names **C.char) word {
	for i, name := range unsafe.Slice(names, 1<<8) {
		if name == nil {
			break
		}
		if C.GoString(name) == value {
			return word(i)
		}
	}
	return -1
}

// listOf are steps, as Go or JSON has them.
func listOf(value any) (list []Step, ok bool) {
	given, ok := value.([]any)
	if !ok {
		list, ok = value.([]Step)
		return list, ok
	}
	for _, each := range given {
		s, is := each.(map[string]any)
		list, ok = append(list, s), ok && is
	}
	return list, ok
}

// numbersIn are those of a field: one, or a list of some; true is 1.
func numbersIn(value any) (numbers []float64, ok bool) {
	v := reflect.ValueOf(value)
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			one, is := numbersIn(v.Index(i).Interface())
			if !is || len(one) != 1 {
				return nil, false
			}
			numbers = append(numbers, one[0])
		}
		return numbers, true
	case v.Kind() == reflect.Bool:
		return []float64{float64(flag(v.Bool()))}, true
	case v.CanInt():
		return []float64{float64(v.Int())}, true
	case v.CanFloat():
		return []float64{v.Float()}, true
	default:
		return nil, false
	}
}

func flag(on bool) int32 {
	if on {
		return 1
	}
	return 0
}
