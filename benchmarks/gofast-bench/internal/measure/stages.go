package measure

import (
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/gofast/engine"
)

// stageNames are the engine's stages in the order of the work, in words.
var stageNames = []struct{ key, says string }{
	{engine.StageHeader, "headers"}, {engine.StageRead, "reading"}, {engine.StageDecode, "opening and other decoding"}, {engine.StageEntropy, "entropy decoding"},
	{engine.StageInverse, "inverse transform and colour"}, {engine.StageResize, "resize"}, {engine.StageSteps, "other steps"},
	{engine.StageNumbers, "numbers"}, {engine.StageGather, "gathering rows"},
}

// stagesOf are the shares of the threads' time, which is all their seconds, and behind them the rest, in which they had
// nothing to do. The clock of a stage goes on while its thread waits for a file or a processor.
func stagesOf(took map[string]time.Duration, all float64, samples int64) (stages []report.Stage) {
	add := func(name string, seconds float64) {
		stages = append(stages, report.Stage{Name: name, Seconds: seconds / float64(samples), Share: seconds / all})
	}
	left := all
	for _, stage := range stageNames {
		if seconds := took[stage.key].Seconds(); seconds > 0 {
			add(stage.says, seconds)
			left -= seconds
		}
	}
	add(report.Waiting, max(left, 0)) // two clocks may differ by microseconds
	return stages
}
