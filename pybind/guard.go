package pybind

import (
	"encoding/json"
	"errors"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/border"
)

// guard is deferred by every export: a panic becomes an error, and every error
// becomes one whose text is JSON, because gopy hands Python nothing but text.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = border.PanicError(r, "pybind")
	}
	if *err != nil {
		*err = errors.New(encode(*err))
	}
}

// wireError is an error as python/gofast/errors.py reads it.
type wireError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	Row     int64  `json:"row"`
	Line    int64  `json:"line"`
	Column  string `json:"column,omitempty"`
	Offset  int64  `json:"offset"`
	Index   int64  `json:"index"`
	Debug   string `json:"debug,omitempty"`
}

func encode(err error) string {
	w := wireError{Kind: border.ErrorName(err), Message: err.Error(), Row: -1, Line: -1, Offset: -1, Index: -1}
	var e *gofast.Error
	if errors.As(err, &e) {
		w.Path, w.Row, w.Line, w.Column = e.Path, e.Row, e.Line, e.Column
		w.Offset, w.Index, w.Debug = e.Offset, e.Index, e.Debug
	}
	text, _ := json.Marshal(w) // strings and integers always encode
	return string(text)
}
