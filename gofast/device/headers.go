package device

import "embed"

// The border's C code includes these headers.
//
//go:embed *.h
var _ embed.FS
