// Package steps holds what can be done to a picture: one file an operation, with
// its fields, what it draws and what it does (operation.h). A plan's steps are
// compiled once, which checks them. Then the random parameters of samples are drawn,
// ahead of the work: as torchvision draws them from torch's CPU generator, byte for
// byte, or from a stream that is a function of seed, epoch and sample alone.
package steps
