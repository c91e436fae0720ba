//go:build twins

package pixel

func (l Level) warp(src Planes, t Transform, dst Planes) { WarpGeneric(src, t, dst) }

func (l Level) turn(src Planes, quarters int, dst Planes) { TurnGeneric(src, quarters, dst) }

func (l Level) sharpen(src Planes, factor float32, dst Planes) { SharpenGeneric(src, factor, dst) }

func (l Level) histogram(p Planes, counts *[3][256]uint32) { *counts = HistogramGeneric(p) }

func (l Level) lookUp(p Planes, tables *[3][256]byte) { LookUpGeneric(p, tables) }
