package picture

import (
	"embed"

	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/source/reader"
)

// Other packages' C code includes these headers, and this package's those of the
// import above. TestHeadersRebuildTheirUsers says what both are for.
//
//go:embed *.h
var _ embed.FS
