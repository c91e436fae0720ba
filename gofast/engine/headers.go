package engine

import (
	"embed"

	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/meter"
)

// C code of other packages includes these headers, and this package's C code includes
// those of the imports above. TestHeadersRebuildTheirUsers explains both.
//
//go:embed *.h
var _ embed.FS
