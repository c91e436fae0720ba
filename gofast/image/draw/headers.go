package draw

import "embed"

// Other packages' C code includes these headers. TestHeadersRebuildTheirUsers says
// what this is for.
//
//go:embed *.h
var _ embed.FS
