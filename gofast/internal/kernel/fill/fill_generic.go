//go:build purego

package fill

import "sync"

// specs holds what the C programs were made from, by their address.
var specs sync.Map

func remember(address uintptr, spec Spec) { specs.Store(address, spec) }
func forget(address uintptr)              { specs.Delete(address) }

// Fill makes rows from..to-1 of a batch; x and y are the addresses of its row 0.
// It returns -1, or the position of the first index that is out of range.
func (v View) Fill(indices []int64, from, to int, x, y uintptr) int64 {
	return v.fillGeneric(indices, from, to, x, y, func(p Program) *Spec {
		found, _ := specs.Load(p.Address())
		spec := found.(Spec)
		return &spec
	})
}
