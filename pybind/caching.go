package pybind

import (
	"context"
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/cache"
	"github.com/gofast-org/gofast/gofast/table/load"
)

// caches are decoded, and wait for what Python makes of their texts, by the numbers that it gave them.
var caches sync.Map // of *load.Building

type buildingConfig struct {
	Building int `json:"building"`
}

// buildCache gives the texts, where there are any: then Python finishes the cache, and closes it in any case.
func buildCache(ctx context.Context, t *task, c struct {
	openConfig
	buildingConfig
	Cache       string `json:"cache"`
	Fingerprint string `json:"fingerprint"`
	Force       bool   `json:"force"`
}) (any, error) {
	c.Progress = t.progress
	b, err := load.BeginCache(ctx, c.Paths, c.Options, c.Cache, c.Fingerprint, c.Force)
	if b == nil || err != nil {
		return nil, err
	}
	if len(c.Texts) == 0 {
		defer b.Close()
		return nil, b.Finish(ctx, nil)
	}
	caches.Store(c.Building, b)
	return b.Kept, nil
}

// textConfig is a cache.Text in memory of Python's, which it keeps until the task has ended.
type textConfig struct {
	Name   string       `json:"name"`
	Ends   memoryConfig `json:"ends"`
	Values []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		memoryConfig
	} `json:"values"`
}

func finishCache(ctx context.Context, _ *task, c struct {
	buildingConfig
	Texts []textConfig `json:"texts"`
}) (any, error) {
	b, ok := caches.Load(c.Building)
	if !ok {
		return nil, gofast.NewError(gofast.ErrClosed, "cache", "no such cache")
	}
	var texts []cache.Text
	for _, t := range c.Texts {
		text := cache.Text{Name: t.Name, Ends: t.Ends.memory()}
		for _, v := range t.Values {
			text.Values = append(text.Values, cache.Values{Name: v.Name, Type: table.TypeNamed(v.Type), Data: v.memory()})
		}
		texts = append(texts, text)
	}
	return nil, b.(*load.Building).Finish(ctx, texts)
}

// closeCache lets other processes build it, if it was not finished. No task uses it.
func closeCache(c buildingConfig) (any, error) {
	if b, ok := caches.LoadAndDelete(c.Building); ok {
		b.(*load.Building).Close()
	}
	return nil, nil
}
