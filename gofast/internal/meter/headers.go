package meter

import "embed"

// C code of other packages includes these headers. TestHeadersRebuildTheirUsers explains this.
//
//go:embed *.h
var _ embed.FS
