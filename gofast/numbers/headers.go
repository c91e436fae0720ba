package numbers

import "embed"

// Other packages' C code includes these headers. TestHeadersRebuildTheirUsers says what that is for.
//
//go:embed *.h
var _ embed.FS
