//go:build !purego

package gather

/*
#include "gather.h"
static void set_c(uintptr_t view) { ((gf_view *)view)->fill = gf_fill; }
*/
import "C"

import "github.com/gofast-org/gofast/gofast/engine"

func remember(uintptr, Spec) {}
func forget(uintptr)         {}

// setFill makes the C kernel what the engine's threads call.
func setFill(v engine.View) { C.set_c(C.uintptr_t(v.Address())) }
