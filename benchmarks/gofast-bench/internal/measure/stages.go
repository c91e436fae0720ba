package measure

import (
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/gofast/engine"
)

// stageNames are the engine's stages in the order of the work, in words.
var stageNames = []struct{ key, says string }{
	{engine.StageHeader, "headers"}, {engine.StageRead, "reading"}, {engine.StageDecode, "opening and other decoding"}, {engine.StageEntropy, "entropy decoding"},
	{engine.StageInverse, "inverse transform and colour"}, {engine.StageResize, "resize"}, {engine.StageSteps, "other steps"},
	{engine.StageNumbers, "numbers"}, {engine.StageGather, "gathering rows"},
}

// stagesOf are the shares of the threads' time, which is all their seconds, and behind them
// the rest: waiting for files, for work or for a processor.
func stagesOf(epochs []Epoch, all float64, samples int64) (stages []report.Stage) {
	add := func(name string, seconds float64) {
		stages = append(stages, report.Stage{Name: name, Seconds: seconds / float64(samples) / float64(len(epochs)), Share: seconds / all})
	}
	left := all
	for _, stage := range stageNames {
		seconds, known := 0.0, false
		for _, e := range epochs {
			took, there := e.Stages[stage.key]
			seconds, known = seconds+took.Seconds(), known || there
		}
		if known && seconds > 0 {
			add(stage.says, seconds)
			left -= seconds
		}
	}
	add(report.Waiting, max(left, 0))
	return stages
}
