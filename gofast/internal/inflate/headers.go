// Package inflate inflates zlib streams, of pictures and of tables. What it does not take for correct is zlib's, or another
// library's, to judge.
package inflate

import "embed"

// C code of other packages includes this header. TestHeadersRebuildTheirUsers explains
// this.
//
//go:embed *.h
var _ embed.FS
