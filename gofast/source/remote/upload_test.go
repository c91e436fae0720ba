package remote

import (
	"crypto/md5"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// TestInParts sends a file in small parts to a server that puts them together, or refuses one.
func TestInParts(t *testing.T) {
	defer func(before int64) { partSize = before }(partSize)
	partSize = 1000
	content := photograph(4321)
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind    error
		spoil   func(w http.ResponseWriter, r *http.Request, n int) bool
		dropped bool
	}{
		"whole": {},
		"503 on each part": {spoil: func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n%2 == 1 && r.Method == http.MethodPut {
				w.WriteHeader(503)
				return true
			}
			return false
		}},
		"a refused part": {kind: errs.ErrRead, dropped: true, spoil: func(w http.ResponseWriter, r *http.Request, n int) bool {
			if r.URL.Query().Get("partNumber") == "3" {
				w.WriteHeader(403)
				return true
			}
			return false
		}},
		"an upload without a name": {kind: errs.ErrRead, spoil: func(w http.ResponseWriter, r *http.Request, n int) bool {
			if r.Method == http.MethodPost {
				fmt.Fprint(w, `<InitiateMultipartUploadResult></InitiateMultipartUploadResult>`)
			}
			return r.Method == http.MethodPost
		}},
		"an error behind a 200": {kind: errs.ErrRead, dropped: true, spoil: func(w http.ResponseWriter, r *http.Request, n int) bool {
			if r.Method == http.MethodPost && !r.URL.Query().Has("uploads") {
				fmt.Fprint(w, `<Error><Code>InternalError</Code></Error>`)
				return true
			}
			return false
		}},
		"another object": {kind: errs.ErrChanged, spoil: func(w http.ResponseWriter, r *http.Request, n int) bool {
			if r.Method == http.MethodGet {
				w.Header().Set("ETag", `"another"`)
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader("another"))
				return true
			}
			return false
		}},
	} {
		var lock sync.Mutex
		var whole, mark string
		var n int
		parts, dropped := map[string]string{}, false
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lock.Lock()
			defer lock.Unlock()
			body, _ := io.ReadAll(r.Body)
			q := r.URL.Query()
			if n++; c.spoil != nil && c.spoil(w, r, n) {
				return
			}
			switch {
			case q.Has("uploads"):
				mark = r.Header.Get(told)
				fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>a+/=</UploadId></InitiateMultipartUploadResult>")
			case r.Method == http.MethodGet:
				w.Header().Set("ETag", `"whole"`)
				w.Header().Set(told, mark)
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader(whole))
			case q.Get("uploadId") != "a+/=":
				t.Errorf("%s: %v", name, r.URL)
			case r.Method == http.MethodPut:
				tag := fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(body)))
				parts[q.Get("partNumber")+tag] = string(body)
				w.Header().Set("ETag", tag)
			case r.Method == http.MethodDelete:
				dropped = true
				w.WriteHeader(204)
			default:
				var all struct {
					Part []struct{ PartNumber, ETag string }
				}
				if err := xml.Unmarshal(body, &all); err != nil || r.Header.Get("If-None-Match") != "*" {
					t.Errorf("%s: %v %s", name, err, body)
				}
				for _, p := range all.Part {
					whole += parts[p.PartNumber+p.ETag]
				}
				fmt.Fprint(w, "<CompleteMultipartUploadResult><ETag>&quot;whole&quot;</ETag></CompleteMultipartUploadResult>")
			}
		}))
		u := &Upload{File: File{URL: "s3://bkt/a b", S3: S3{Key: "k", Secret: "s", Endpoint: s.URL}}, Path: path, Told: "these"}
		err := Send(t.Context(), u, Options{Pause: time.Millisecond})
		s.Close()
		if !errors.Is(err, c.kind) || dropped != c.dropped || (c.kind == nil && (err != nil || whole != string(content))) {
			t.Errorf("%s: %v, dropped: %v, %d bytes", name, err, dropped, len(whole))
		}
	}
}
