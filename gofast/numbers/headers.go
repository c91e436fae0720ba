package numbers

import "embed"

// Headers are the C headers, which other packages' C code includes: TestHeadersRebuildTheirUsers says what that is for.
// The device's kernels are compiled with one of them at run time.
//
//go:embed *.h
var Headers embed.FS
