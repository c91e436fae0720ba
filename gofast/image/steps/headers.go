package steps

import (
	"embed"

	_ "github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/image/pixel"
	_ "github.com/gofast-org/gofast/gofast/image/resample"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
)

// Other packages' C code includes these headers, and this package's those of its
// imports. TestHeadersRebuildTheirUsers says what both are for.
//
//go:embed *.h
var _ embed.FS
