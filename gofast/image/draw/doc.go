// Package draw decides the random parameters of a plan's steps ahead of the work:
// as torchvision draws them from torch's CPU generator, byte for byte, or from a
// stream that is a function of seed, epoch and sample alone.
package draw
