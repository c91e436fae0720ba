//go:build !twins

package gather

/*
#include "gather.h"
*/
import "C"

import (
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/meter"
)

// fill is what the engine's threads call: the C kernel.
var fill = unsafe.Pointer(C.gf_fill)

const stage = meter.Gather

func remember(uintptr, Spec) {}
func forget(uintptr)         {}
