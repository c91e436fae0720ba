package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Options are for all files of a call.
type Options struct {
	Stall    time.Duration           // without a byte for so long, a request is over; 0: 30 s
	Pause    time.Duration           // before the first repetition; 0: 0.2 s
	Progress func(done, total int64) // called by any goroutine; may be nil
}

const (
	inFlight = 16      // requests: more of their bytes than a line takes
	inSmall  = 64      // for small files, where all is waiting
	small    = 1 << 20 // bytes of such a file, at most
	tries    = 8       // of a range, while they bring less than enough
	enough   = 1 << 20 // bytes that were worth a request
	patience = 30 * time.Second
)

// flightOf is how many requests go at a time for so many bytes in n files.
func flightOf(total int64, n int) int {
	if n > 1 && total/int64(n) < small {
		return inSmall
	}
	return inFlight
}

// client is for the requests of one call.
type client struct {
	http.Client
	Options
}

// CloseIdle closes the connections that wait for the next request.
func CloseIdle() { transport.CloseIdleConnections() }

type proxyKey struct{}

func newClient(options Options) *client {
	if options.Stall <= 0 {
		options.Stall = 30 * time.Second
	}
	if options.Pause <= 0 {
		options.Pause = 200 * time.Millisecond
	}
	if options.Progress == nil {
		options.Progress = func(_, _ int64) {}
	}
	return &client{http.Client{Transport: transport, CheckRedirect: follow}, options}
}

// transport keeps connections for a while: a download goes on with those of its probe, and the next shard with those of this.
var transport = &http.Transport{
	Proxy: func(r *http.Request) (*url.URL, error) { // as Python says: Go does not see what Python sets
		proxy, _ := r.Context().Value(proxyKey{}).(*url.URL)
		return proxy, nil
	},
	DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	TLSHandshakeTimeout: 10 * time.Second,
	TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // a connection each, not HTTP/2's one
	MaxIdleConnsPerHost: 2 * inSmall,                                            // shards are probed while their indexes come
	IdleConnTimeout:     30 * time.Second,
	DisableCompression:  true,
	ReadBufferSize:      64 << 10,
}

// refusal is of a redirect, which is no other one the next time.
type refusal string

func (r refusal) Error() string { return string(r) }

// follow refuses to take S3's token to another server; one of another region is asked anew.
func follow(r *http.Request, via []*http.Request) error {
	r.Header.Del("Referer") // it has the first address, with its signature
	switch {
	case r.Header.Get("X-Amz-Date") != "":
		return http.ErrUseLastResponse
	case len(via) == 10:
		return refusal("10 redirects")
	case r.URL.Scheme != "http" && r.URL.Scheme != "https":
		return refusal(fmt.Sprintf("it redirects to %.20q, which is not HTTP", r.URL.Scheme+":"))
	case via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https":
		return refusal("it redirects from https: to http:, where anybody can read and change what is sent")
	}
	return nil
}

// passing is an error that may be none the next time.
type passing struct {
	cause *errs.Error
	after time.Duration // which the server asks for
}

func (p passing) Error() string { return p.cause.Error() }

// repeat calls get until it has no passing error, or too often in vain. get says how many bytes it brought.
func (c *client) repeat(ctx context.Context, get func() (int64, error)) error {
	pause := c.Pause
	for vain := 1; ; vain++ {
		n, err := get()
		var later passing
		if !errors.As(err, &later) {
			return err
		}
		if n >= enough {
			vain, pause = 1, c.Pause
		}
		if vain == tries {
			later.cause.Text = fmt.Sprintf("%s, %d times", later.cause.Text, tries)
			return later.cause
		}
		wait := max(min(later.after, patience), pause/2+rand.N(pause)) // processes do not come back all at once
		select {
		case <-ctx.Done():
			return errs.New(errs.ErrCanceled, "download", "canceled").Because(ctx.Err())
		case <-time.After(wait):
		}
		pause = min(2*pause, 8*time.Second)
	}
}

// get asks for bytes from..to-1, as long as the file has a validator. read gets an answer of status 200, 206 or 416.
func (c *client) get(ctx context.Context, f *File, from, to int64, tag string, read func(*http.Response, *stalling) error) error {
	more := http.Header{}
	if from < to {
		more.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	}
	if tag != "" && !strings.HasPrefix(tag, "W/") { // a weak one never matches
		more.Set("If-Match", tag)
	}
	return c.ask(ctx, f, call{unsigned: more}, read)
}

// ask makes a request and looks at the status; read is for an answer of status 200, 204, 206 or 416.
func (c *client) ask(ctx context.Context, f *File, what call, read func(*http.Response, *stalling) error) error {
	if f.Proxy != "" {
		proxy, err := url.Parse(f.Proxy)
		if err != nil { // which has the password
			return f.errorf(errs.ErrConfig, "the proxy of the environment has an address that is no URL")
		}
		ctx = context.WithValue(ctx, proxyKey{}, proxy)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := f.request(ctx, what)
	if err != nil {
		return err
	}
	r.Header.Set("Accept-Encoding", "identity") // behind the signature, which proxies cannot break so
	maps.Copy(r.Header, what.unsigned)
	body := &stalling{timer: time.AfterFunc(c.Stall, cancel), wait: c.Stall}
	defer body.timer.Stop()
	if r.Body != nil {
		r.Body = io.NopCloser(&stalling{r.Body, body.timer, body.wait})
	}
	answer, err := c.Do(r)
	if err != nil {
		failed := f.errorf(errs.ErrRead, "the server cannot be asked: %v", said(err, body))
		var name *net.DNSError
		var certificate *tls.CertificateVerificationError
		var refused refusal
		if (errors.As(err, &name) && name.IsNotFound) || errors.As(err, &certificate) || errors.As(said(err, body), &refused) {
			return failed
		}
		return passing{cause: failed}
	}
	defer answer.Body.Close()
	body.Reader = answer.Body
	switch code := answer.StatusCode; {
	case code == 200 || code == 204 || code == 206 || code == 416:
		if coding := answer.Header.Get("Content-Encoding"); coding != "" && coding != "identity" && coding != "aws-chunked" {
			return f.errorf(errs.ErrUnsupported, "the server sends it compressed by %q, though asked not to", coding)
		}
		return read(answer, body)
	case code == 412:
		if what.body != nil {
			return f.errorf(errs.ErrChanged, "a file of this name is there")
		}
		return f.changed("")
	case code == 404 || code == 410:
		return f.errorf(errs.ErrNotFound, "no such file: the server says %s", f.status(answer))
	case f.moved(answer):
		return passing{cause: f.errorf(errs.ErrRead, "the bucket is in another region: %s", f.status(answer))}
	case (code == 409 && what.body != nil) || code == 429 || code == 500 || code == 502 || code == 503 || code == 504:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return passing{f.errorf(errs.ErrRead, "the server says %s", f.status(answer)), time.Duration(min(max(seconds, 0), 60)) * time.Second}
	default:
		return f.errorf(errs.ErrRead, "the server says %s%s", f.status(answer), f.asWhom(code))
	}
}

// asWhom is what to look at when S3 refuses to answer.
func (f *File) asWhom(code int) string {
	switch {
	case code != http.StatusForbidden || !strings.HasPrefix(f.URL, "s3://"):
		return ""
	case f.S3.Key == "":
		return ", asked without credentials: none were found"
	}
	return ", asked with the credentials that were found"
}

func (f *File) changed(more string) *errs.Error {
	return f.errorf(errs.ErrChanged, "the file on the server is another one by now%s", more)
}

// moved takes over the region that a server of S3 names, and says whether it is another one.
func (f *File) moved(answer *http.Response) bool {
	region, known := answer.Header.Get("X-Amz-Bucket-Region"), f.S3.Region
	if other := f.region.Load(); other != nil {
		known = *other
	}
	if !strings.HasPrefix(f.URL, "s3://") || f.S3.Endpoint != "" || !regionName.MatchString(region) || region == known {
		return false
	}
	f.region.Store(&region)
	return true
}

var (
	regionName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	codeOfS3   = regexp.MustCompile(`<Code>(\w{1,60})</Code>`)
)

// status is what an answer says, with the code that S3 has in the body.
func (f *File) status(answer *http.Response) string {
	head, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	text := fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	if found := codeOfS3.FindSubmatch(head); found != nil {
		text += fmt.Sprintf(" (%s)", found[1])
	}
	return text
}

// stalling is a body that must go on coming.
type stalling struct {
	io.Reader
	timer *time.Timer
	wait  time.Duration
}

func (s *stalling) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.timer.Reset(s.wait)
	return n, err
}

// said is why a request failed, without its address, which may have secrets.
func said(err error, body *stalling) error {
	for request := (*url.Error)(nil); errors.As(err, &request); {
		err = request.Err
	}
	if strings.HasPrefix(err.Error(), "failed to parse Location") { // net/http has no type for it
		return refusal("it redirects to what is no URL")
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("nothing came for %v", body.wait)
	}
	return err
}
