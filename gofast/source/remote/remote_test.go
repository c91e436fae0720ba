package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// server has one file, and may spoil an answer: it says whether it gave one. n counts requests from 1 on, the probe's too.
func server(t *testing.T, content []byte, spoil func(w http.ResponseWriter, r *http.Request, n int64) bool) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Error("the answer may be compressed")
		}
		if r.Header.Get("Referer") != "" {
			t.Error("the first address goes to another server")
		}
		n := count.Add(1)
		if w.Header().Set("ETag", `"one"`); spoil == nil || !spoil(w, r, n) {
			http.ServeContent(w, r, "x.tar", time.Time{}, bytes.NewReader(content))
		}
	}))
	t.Cleanup(s.Close)
	return s, &count
}

func fetch(t *testing.T, url string, options Options) ([]byte, error) {
	t.Helper()
	options.Pause = time.Millisecond
	states, err := Probe(t.Context(), []*File{{URL: url}}, options)
	if err != nil {
		return nil, err
	}
	part := filepath.Join(t.TempDir(), "x.part")
	if err := os.WriteFile(part, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	target := &Target{File: File{URL: url}, State: states[0], To: states[0].Size, Part: part, Path: strings.TrimSuffix(part, ".part")}
	if err := Download(t.Context(), []*Target{target}, options); err != nil {
		if _, there := os.Stat(target.Path); there == nil {
			t.Error("a file that failed has its name")
		}
		return nil, err
	}
	made, err := os.ReadFile(target.Path)
	return made, err
}

func photograph(size int) []byte {
	made := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(made)
	return made
}

// cut ends the connection in the middle of a right answer.
func cut(content []byte, status int, from, to, sent int) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(to-from))
		if status == http.StatusPartialContent {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(content)))
		}
		w.WriteHeader(status)
		_, _ = w.Write(content[from : from+sent])
		panic(http.ErrAbortHandler)
	}
}

func TestFaultsThatPass(t *testing.T) {
	content := photograph(3*pieceSize + 12345)
	var whole atomic.Int64
	for name, spoil := range map[string]func(w http.ResponseWriter, r *http.Request, n int64) bool{
		"none": nil,
		"busy": func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			code := []int{200, 503, 429, 500, 502, 504}[min(n, 6)-1]
			if n%2 == 1 || code == 200 {
				return false
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte("<Error><Code>SlowDown</Code></Error>"))
			return true
		},
		"resets": func(_ http.ResponseWriter, _ *http.Request, n int64) bool {
			if n%2 == 0 {
				panic(http.ErrAbortHandler)
			}
			return false
		},
		"short bodies go on where they ended": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			var from, to int
			_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
			if n > 1 && to+1-from == pieceSize {
				cut(content, 206, from, to+1, 5<<20)(w)
			} else if n > 1 && from%pieceSize != 5<<20 && from < 3*pieceSize {
				t.Errorf("asked again from %d on", from)
			}
			return false
		},
		"200 for 206, at once": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			r.Header.Del("Range")
			return false
		},
		"200 for 206, later": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n > 2 {
				r.Header.Del("Range")
			}
			return false
		},
		"200 for 206, and cut": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			r.Header.Del("Range")
			if whole.Add(1) == 2 {
				cut(content, 200, 0, len(content), 9<<20)(w)
			}
			return false
		},
		"no ETag, and cut": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if w.Header().Del("ETag"); n > 1 && r.Header.Get("Range") != "" {
				t.Error("parts of it are asked for, which may be of two files")
			}
			if n == 2 {
				cut(photograph(len(content) + 1)[1:], 200, 0, len(content), 9<<20)(w)
			}
			return false
		},
		"a stall": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n == 3 {
				_, _ = w.Write(nil)
				<-r.Context().Done()
			}
			return n == 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := server(t, content, spoil)
			options := Options{}
			if name == "a stall" {
				options.Stall = 2 * time.Second
			}
			made, err := fetch(t, s.URL+"/x.tar", options)
			if err != nil || !bytes.Equal(made, content) {
				t.Fatalf("%d bytes, %v", len(made), err)
			}
		})
	}
}

func TestFaultsThatStay(t *testing.T) {
	content := photograph(2*pieceSize + 5)
	answer := func(status int, header, value string) func(http.ResponseWriter, *http.Request, int64) bool {
		return func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n == 1 {
				return false
			}
			w.Header().Set(header, value)
			w.WriteHeader(status)
			return true
		}
	}
	for name, c := range map[string]struct {
		spoil    func(w http.ResponseWriter, r *http.Request, n int64) bool
		kind     error
		text     string
		requests int64 // at most
	}{
		"404":    {func(w http.ResponseWriter, _ *http.Request, _ int64) bool { w.WriteHeader(404); return true }, errs.ErrNotFound, "404", 1},
		"403":    {func(w http.ResponseWriter, _ *http.Request, _ int64) bool { w.WriteHeader(403); return true }, errs.ErrRead, "403 Forbidden", 1},
		"busy":   {func(w http.ResponseWriter, _ *http.Request, _ int64) bool { w.WriteHeader(503); return true }, errs.ErrRead, "8 times", 8},
		"resets": {func(http.ResponseWriter, *http.Request, int64) bool { panic(http.ErrAbortHandler) }, errs.ErrRead, "8 times", 8},
		"another ETag, between ranges": {func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n == 3 {
				w.Header().Set("ETag", `"two"`) // ServeContent answers If-Match by 412
			}
			return false
		}, errs.ErrChanged, "another one", 4},
		"another ETag, If-Match ignored": {func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if r.Header.Del("If-Match"); n > 2 {
				w.Header().Set("ETag", `"two"`)
			}
			return false
		}, errs.ErrChanged, `is "\"two\""`, 4},
		"shorter by now":      {answer(416, "Content-Range", "bytes */7"), errs.ErrChanged, "shorter", 4},
		"another range":       {answer(206, "Content-Range", fmt.Sprintf("bytes 1-9/%d", len(content))), errs.ErrRead, "sent", 4},
		"no range":            {answer(206, "Content-Range", "bytes"), errs.ErrRead, "without saying which", 4},
		"another size":        {answer(206, "Content-Range", "bytes 0-9/10"), errs.ErrChanged, "has 10", 4},
		"another whole":       {answer(200, "Content-Length", "0"), errs.ErrChanged, "has 0", 4},
		"compressed":          {answer(200, "Content-Encoding", "br"), errs.ErrUnsupported, "compressed", 4},
		"redirects for ever":  {answer(302, "Location", "/x.tar"), errs.ErrRead, "10 redirects", 40},
		"redirect to a file":  {answer(302, "Location", "file:///secret"), errs.ErrRead, "not HTTP", 4},
		"redirect to no URL":  {answer(302, "Location", "http://%zz/?secret"), errs.ErrRead, "no URL", 4},
		"no length":           {func(w http.ResponseWriter, _ *http.Request, _ int64) bool { w.(http.Flusher).Flush(); return true }, errs.ErrUnsupported, "how long", 1},
		"nonsense for a byte": {func(w http.ResponseWriter, _ *http.Request, _ int64) bool { w.WriteHeader(206); return true }, errs.ErrRead, "first byte", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, count := server(t, content, c.spoil)
			_, err := fetch(t, strings.Replace(s.URL, "//", "//user:secret@", 1)+"/x.tar?signature=secret", Options{})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the error is %v", err)
			}
			if !strings.Contains(err.Error(), s.URL+"/x.tar") || count.Load() > c.requests {
				t.Errorf("%v after %d requests", err, count.Load())
			}
		})
	}
}

func TestNoSecretIsSaid(t *testing.T) {
	for _, c := range []struct {
		file *File
		kind error
		name string
	}{
		{&File{URL: "http://user:secret%zz@host/x?secret"}, errs.ErrConfig, "http://host/x"},
		{&File{URL: "http://user:secret/@host/x#secret"}, errs.ErrConfig, "http://host/x"},
		{&File{URL: "http://host/x", Proxy: "http://user:secret@a%zzb"}, errs.ErrConfig, "http://host/x"},
		{&File{URL: "s3://b/k", S3: S3{Endpoint: "http://user:secret@host:port/"}}, errs.ErrConfig, "s3://b/k"},
	} {
		_, err := Probe(t.Context(), []*File{c.file}, Options{})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRedirectsStayEncrypted(t *testing.T) {
	first := httptest.NewRequest(http.MethodGet, "https://host/x", nil)
	for to, fine := range map[string]bool{"https://other/x": true, "http://host/x": false} {
		if err := follow(httptest.NewRequest(http.MethodGet, to, nil), []*http.Request{first}); (err == nil) != fine {
			t.Errorf("to %s: %v", to, err)
		}
	}
}

func TestAnEmptyFileAndCancel(t *testing.T) {
	s, _ := server(t, nil, nil)
	if made, err := fetch(t, s.URL, Options{}); err != nil || len(made) != 0 {
		t.Errorf("%d bytes, %v", len(made), err)
	}
	states, err := Probe(t.Context(), []*File{{URL: s.URL}}, Options{})
	if err != nil || states[0].Size != 0 || states[0].Tag != `"one"` {
		t.Errorf("%+v, %v", states, err)
	}
	// One that says of a range only that there is none.
	bare, _ := server(t, nil, func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if r.Header.Get("Range") != "" {
			w.WriteHeader(416)
		}
		return r.Header.Get("Range") != ""
	})
	if made, err := fetch(t, bare.URL, Options{}); err != nil || len(made) != 0 {
		t.Errorf("%d bytes, %v", len(made), err)
	}
	s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Probe(ctx, []*File{{URL: s.URL}}, Options{}); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
}

// The first example of "Signature Calculations for the Authorization Header", in Amazon's S3 API reference.
func TestSignature(t *testing.T) {
	s3 := S3{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}
	r := httptest.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	r.Header.Set("Range", "bytes=0-9")
	if err := s3.sign(t.Context(), r, noBody, s3.Region, time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, " +
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestAddressesOfObjects(t *testing.T) {
	for _, c := range []struct{ object, region, endpoint, want string }{
		{"s3://bkt/a/b c+d.tar", "eu-west-1", "", "https://bkt.s3.eu-west-1.amazonaws.com/a/b%20c%2Bd.tar"},
		{"s3://a.b/k", "cn-north-1", "", "https://s3.cn-north-1.amazonaws.com.cn/a.b/k"},
		{"s3://bkt/ä?#", "x", "http://localhost:9000/", "http://localhost:9000/bkt/%C3%A4%3F%23"},
		{"s3://bkt", "x", "", ""}, {"s3:///key", "x", "", ""}, {"s3://evil@host/key", "x", "", ""},
	} {
		got, err := S3{Endpoint: c.endpoint}.address(c.object, c.region, false)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s is %q, %v", c.object, got, err)
		}
	}
}

// A server of S3 sends requests to another region, where they are signed anew, and gives codes in the body.
func TestRegions(t *testing.T) {
	f := &File{URL: "s3://bkt/key", S3: S3{Region: "us-east-1", Key: "k", Secret: "s"}}
	answer := &http.Response{StatusCode: 400, Header: http.Header{"X-Amz-Bucket-Region": {"eu-west-1"}}}
	if !f.moved(answer) || f.moved(answer) {
		t.Error("not moved, or twice to the same region")
	}
	r, err := f.request(t.Context(), call{})
	if err != nil || r.URL.Host != "bkt.s3.eu-west-1.amazonaws.com" || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3/") {
		t.Errorf("%v, %v", r, err)
	}
	if follow(r, nil) != http.ErrUseLastResponse {
		t.Error("the token goes to another server")
	}
	answer.Header.Set("X-Amz-Bucket-Region", "evil.example.org/")
	if f.moved(answer) {
		t.Error("moved to what is no region")
	}
}

func TestTargetsOfPython(t *testing.T) {
	var made Target
	text := `{"file": {"url": "s3://b/k", "proxy": "p", "s3": {"key": "a"}}, "state": {"size": 7, "tag": "t", "whole": true}, "part": "x", "path": "y"}`
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.URL != "s3://b/k" || made.S3.Key != "a" || made.Size != 7 || !made.Whole {
		t.Errorf("%+v, %v", &made, err)
	}
}

// The progress of what is read while it comes has no gap: the first piece is the last one here.
func TestProgressOfWhatIsRead(t *testing.T) {
	content := photograph(3 * firstSize)
	var sent atomic.Int64
	s, _ := server(t, content, func(w http.ResponseWriter, r *http.Request, n int64) bool {
		for strings.HasPrefix(r.Header.Get("Range"), "bytes=0-10") && sent.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		return false
	})
	part := filepath.Join(t.TempDir(), "x.part")
	if err := os.WriteFile(part, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	target := &Target{File: File{URL: s.URL}, State: State{Size: int64(len(content)), Tag: `"one"`}, To: int64(len(content)), Part: part, Path: part + "x", Read: true}
	var calls int64
	err := Download(t.Context(), []*Target{target}, Options{Progress: func(done, total int64) {
		if calls++; done == 0 && calls == 2*firstSize/bufferSize {
			sent.Store(2)
		}
		made, err := os.ReadFile(part)
		if err != nil || total != int64(len(content)) || !bytes.Equal(made[:done], content[:done]) {
			t.Errorf("%d of %d are not there: %v", done, total, err)
		}
	}})
	if err != nil || calls < 3 {
		t.Fatal(err, calls)
	}
}

// A part of a file is asked for by ranges of it alone, and is its bytes also where a server sends all of them.
func TestPartsOfAFile(t *testing.T) {
	content := photograph(2*pieceSize + 5)
	from, to := int64(4321), int64(pieceSize+9000)
	for name, spoil := range map[string]func(w http.ResponseWriter, r *http.Request, n int64) bool{
		"ranges": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			var first, last int64
			if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil || first < from || last >= to {
				t.Errorf("asked for %q", r.Header.Get("Range"))
			}
			if r.Header.Get("If-Match") != `"one"` {
				t.Error("any file will do")
			}
			return false
		},
		"cut": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n == 1 {
				cut(content, 206, int(from), int(from)+pieceSize, 100)(w)
			}
			return false
		},
		"200 for 206": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			r.Header.Del("Range")
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := server(t, content, spoil)
			part := filepath.Join(t.TempDir(), "x.part")
			if err := os.WriteFile(part, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			target := &Target{File: File{URL: s.URL}, State: State{Size: int64(len(content)), Tag: `"one"`}, From: from, To: to, Part: part, Path: part + "x"}
			last := int64(0)
			err := Download(t.Context(), []*Target{target}, Options{Pause: time.Millisecond, Progress: func(done, total int64) {
				if last = done; total != to-from {
					t.Errorf("%d bytes of a part of %d", total, to-from)
				}
			}})
			if err != nil || last != to-from {
				t.Fatal(err, last)
			}
			if made, err := os.ReadFile(target.Path); err != nil || !bytes.Equal(made, content[from:to]) {
				t.Errorf("%d bytes, %v", len(made), err)
			}
		})
	}
}

// Who is refused by S3 reads whose credentials were asked with, and none of them.
func TestRefusalsSpeakOfCredentials(t *testing.T) {
	s, _ := server(t, nil, func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		w.WriteHeader(403)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code></Error>"))
		return true
	})
	for key, want := range map[string]string{"": "without credentials", "AKIA": "with the credentials"} {
		file := &File{URL: "s3://bkt/x.tar", S3: S3{Endpoint: s.URL, Key: key, Secret: "hidden", Region: "x"}}
		_, err := Probe(t.Context(), []*File{file}, Options{})
		if !errors.Is(err, errs.ErrRead) || !strings.Contains(err.Error(), "403 Forbidden (AccessDenied), asked "+want) {
			t.Errorf("%v", err)
		}
		if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "AKIA") {
			t.Errorf("it has the key: %v", err)
		}
	}
}
