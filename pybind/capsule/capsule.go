//go:build python

// Package capsule is the per-batch border to Python: a small C module of
// functions that gopy cannot make, above all the one that hands a slot to torch
// as a DLPack capsule. It is compiled into the same library as the engine.
package capsule

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra -Wno-unused-function -DPy_LIMITED_API=0x030a0000
#include <stdint.h>
void *gf_capsule_module(void);
static uintptr_t address(void) { return (uintptr_t)gf_capsule_module; }
*/
import "C"

// Address is the C function `PyObject *(void)` that makes the module.
func Address() uintptr { return uintptr(C.address()) }
