//go:build !twins

package gofast

import "github.com/gofast-org/gofast/gofast/engine"

// gathers are the stages of a table.
func gathers() []string { return []string{engine.StageGather} }
