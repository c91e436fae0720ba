//go:build !purego

package gather

/*
#include "gather.h"
*/
import "C"

import "unsafe"

// fill is what the engine's threads call: the C kernel.
var fill = unsafe.Pointer(C.gf_fill)

func remember(uintptr, Spec) {}
func forget(uintptr)         {}
