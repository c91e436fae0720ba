package image

import (
	"embed"

	_ "github.com/gofast-org/gofast/gofast/engine"
	_ "github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/internal/meter"
)

// Other packages' C code includes these headers, and this package's those of the
// imports above. TestHeadersRebuildTheirUsers says what both are for.
//
//go:embed *.h
var _ embed.FS
