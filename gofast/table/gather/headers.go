package gather

// The packages of the headers that the C code includes. TestHeadersRebuildTheirUsers
// says what the imports are for.
import (
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/meter"
)
