package remote

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func fetched(t *testing.T, urls ...string) (data []byte, found []Fetched, err error) {
	t.Helper()
	var files []*File
	for _, url := range urls {
		files = append(files, &File{URL: url})
	}
	fd, found, err := Fetch(t.Context(), files, Options{Pause: time.Millisecond})
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fd), "fetched")
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	data = make([]byte, info.Size())
	_, err = file.ReadAt(data, 0)
	return data, found, err
}

// Each file is asked for once, unless something goes wrong that passes.
func TestFetch(t *testing.T) {
	const files = 100
	content := photograph(100_001)
	for name, spoil := range map[string]func(w http.ResponseWriter, r *http.Request, n int64) bool{
		"none": nil,
		"busy": func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n > 3 {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		},
		"short": func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n > 3 {
				return false
			}
			cut(content, 200, 0, len(content), 5000)(w)
			return true
		},
	} {
		s, count := server(t, content, spoil)
		urls := make([]string, files)
		for i := range urls {
			urls[i] = fmt.Sprintf("%s/%d", s.URL, i)
		}
		data, found, err := fetched(t, urls...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, f := range found {
			if f.At%8 != 0 || len(data) > files*(len(content)+7) || string(data[f.At:f.At+f.Bytes]) != string(content) {
				t.Fatalf("%s: file %d at %d of %d", name, i, f.At, len(data))
			}
		}
		if want := int64(files); count.Load() != want && name == "none" || count.Load() != want+3 && name != "none" {
			t.Errorf("%s: %d requests", name, count.Load())
		}
	}
}

func TestWhatCannotBeFetched(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   error
	}{
		"missing": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, errs.ErrNotFound},
		"refused": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, errs.ErrRead},
		"none":    {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, errs.ErrRead},
		"packed":  {func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); w.WriteHeader(200) }, errs.ErrUnsupported},
		"too much": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(1)<<62))
			w.WriteHeader(200)
		}, errs.ErrLimit},
	} {
		s, count := server(t, nil, func(w http.ResponseWriter, _ *http.Request, _ int64) bool { c.answer(w); return true })
		if _, _, err := fetched(t, s.URL+"/x"); !errors.Is(err, c.want) || count.Load() != 1 {
			t.Errorf("%s: %v after %d requests", name, err, count.Load())
		}
	}
}
