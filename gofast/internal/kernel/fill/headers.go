package fill

// The packages of the headers that the C code includes. TestHeadersRebuildTheirUsers
// says what the imports are for.
import (
	_ "github.com/gofast-org/gofast/gofast/internal/kernel/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/kernel/view"
)
