//go:build twins

package gather

/*
#include "gather.h"

extern int64_t gofastFillGeneric(gf_view *, gf_batch *, int64_t, int64_t);
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/meter"
)

// fill is what the engine's threads call: the Go twin.
var fill = unsafe.Pointer(C.gofastFillGeneric)

const stage = meter.Other // a twin is not what one wants to know

// specs holds what the C programs were made from, by their address.
var specs sync.Map

func remember(address uintptr, spec Spec) { specs.Store(address, spec) }
func forget(address uintptr)              { specs.Delete(address) }

//export gofastFillGeneric
func gofastFillGeneric(view *C.gf_view, batch *C.gf_batch, from, to C.int64_t) C.int64_t {
	positions := unsafe.Slice((*int64)(batch.indices), int(to))
	return C.int64_t(fillGeneric(engine.ViewAt(uintptr(unsafe.Pointer(view))), positions, int(from), int(to), uintptr(unsafe.Pointer(batch.x)), uintptr(unsafe.Pointer(batch.y)),
		func(program uintptr) *Spec {
			found, _ := specs.Load(program)
			spec := found.(Spec)
			return &spec
		}))
}
