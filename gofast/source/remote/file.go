// Package remote brings whole files from servers of HTTP and S3 to the disk, in ranges that come beside each other.
//
// What a server sends is believed as far as TCP and TLS go: of other bytes in a right answer nobody knows, unless
// the file's own format has a checksum.
package remote

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// File is a file on a server: https://host/path, or s3://bucket/key.
type File struct {
	URL   string `json:"url"`
	Proxy string `json:"proxy"` // "" for none
	S3    S3     `json:"s3"`    // for s3: alone

	region atomic.Pointer[string] // the right one, where a server of S3 has said that S3's is wrong
}

// S3 says how a bucket is reached. Without a key, requests are anonymous.
type S3 struct {
	Key      string `json:"key"`
	Secret   string `json:"secret"`
	Token    string `json:"token"`
	Region   string `json:"region"`
	Endpoint string `json:"endpoint"` // "" for AWS
}

const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing

// Name is the file without what may be secret: a user, a signature.
func (f *File) Name() string {
	u, err := url.Parse(f.URL)
	if err != nil {
		scheme, rest, _ := strings.Cut(f.URL, "://")
		rest = rest[strings.LastIndex(rest, "@")+1:]
		end := strings.IndexAny(rest+"?", "?#")
		return scheme + "://" + rest[:end]
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (f *File) errorf(kind error, format string, args ...any) *errs.Error {
	return errs.New(kind, "download", fmt.Sprintf(format, args...)).At(f.Name())
}

// call is what is asked of a server: GET of the whole file, if nothing else is said.
type call struct {
	method   string
	query    url.Values
	signed   http.Header
	unsigned http.Header       // what proxies may change
	body     *io.SectionReader // to be read twice
}

// request is one for the file, or with a query of S3 for its bucket, if it has no key.
func (f *File) request(ctx context.Context, what call) (*http.Request, error) {
	isS3 := strings.HasPrefix(f.URL, "s3://")
	address, region := f.URL, f.S3.Region
	if other := f.region.Load(); other != nil {
		region = *other
	}
	if isS3 {
		var err error
		if address, err = f.S3.address(f.URL, region, what.query.Has("list-type")); err != nil {
			return nil, f.errorf(errs.ErrConfig, "%v", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, what.method, address, nil)
	if err != nil {
		what := "this" // the cause would have the whole of it
		if isS3 {
			what = "the endpoint of S3"
		}
		return nil, f.errorf(errs.ErrConfig, "%s is no URL", what)
	}
	if what.query != nil {
		r.URL.RawQuery = what.query.Encode()
	}
	maps.Copy(r.Header, what.signed)
	hash := noBody
	if what.body != nil {
		if hash, err = carry(r, what.body); err != nil {
			return nil, f.errorf(errs.ErrRead, "what is to be sent cannot be read: %v", err)
		}
	}
	if isS3 && f.S3.Key != "" {
		err = f.S3.sign(ctx, r, hash, region, time.Now())
	}
	return r, err
}

// address is that of an object or a bucket: by the host's name at AWS, by the path elsewhere.
func (s S3) address(object, region string, whole bool) (string, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(object, "s3://"), "/")
	if bucket == "" || (key == "" && !whole) || strings.ContainsAny(bucket, "?#@:%\\") {
		return "", fmt.Errorf("give s3://bucket/key")
	}
	path := "/" + escaped(key)
	if whole {
		path = ""
	}
	if s.Endpoint != "" {
		return strings.TrimSuffix(s.Endpoint, "/") + "/" + bucket + path, nil
	}
	host := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	if strings.Contains(bucket, ".") { // no certificate has a name with more dots
		return "https://" + host + "/" + bucket + path, nil
	}
	return "https://" + bucket + "." + host + path, nil
}

// escaped is a key as a signature has it: all but letters, digits and -._~/ are escaped.
func escaped(key string) string {
	parts := strings.Split(key, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(part), "+", "%20")
	}
	return strings.Join(parts, "/")
}

func (s S3) sign(ctx context.Context, r *http.Request, hash, region string, now time.Time) error {
	r.Header.Set("X-Amz-Content-Sha256", hash)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }) // it is escaped
	as := aws.Credentials{AccessKeyID: s.Key, SecretAccessKey: s.Secret, SessionToken: s.Token}
	return signer.SignHTTP(ctx, as, r, hash, "s3", region, now)
}
