package remote

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Upload is a file of this machine, and which object it becomes.
type Upload struct {
	File `json:"file"` // s3://bucket/key
	Path string        `json:"path"`
	Told string        `json:"told"` // what the object is to say of itself: State.Told
}

var partSize int64 = 64 << 20 // of what goes in parts; S3 has at most 10,000 of them

const told = "X-Amz-Meta-Gofast"

// Send makes the object, which must not be there: it is there completely or not at all. A server that knows no
// If-None-Match replaces it.
func Send(ctx context.Context, u *Upload, options Options) error {
	c := newClient(options)
	file, err := os.Open(u.Path)
	if err != nil {
		return u.unread(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return u.unread(err)
	}
	size := info.Size()
	once := http.Header{"If-None-Match": {"*"}}
	var tag string
	if size <= partSize {
		once.Set(told, u.Told)
		tag, err = c.put(ctx, &u.File, call{method: http.MethodPut, signed: once, body: io.NewSectionReader(file, 0, size)})
	} else {
		tag, err = c.inParts(ctx, u, file, size, once)
	}
	if err != nil {
		return err
	}
	states, err := Probe(ctx, []*File{&u.File}, options)
	if err == nil && (states[0].Size != size || (tag != "" && states[0].Tag != tag) || states[0].Told != u.Told) {
		err = u.errorf(errs.ErrChanged, "it is another file than was sent: %d bytes and ETag %.60q, not %d and %.60q", states[0].Size, states[0].Tag, size, tag)
	}
	return err
}

func (u *Upload) unread(err error) error {
	return errs.New(errs.ErrRead, "upload", fmt.Sprintf("it cannot be read: %v", err)).At(u.Path)
}

// inParts sends parts beside each other. What has come is dropped, unless all has.
func (c *client) inParts(ctx context.Context, u *Upload, file *os.File, size int64, once http.Header) (tag string, err error) {
	var begun struct { // rclone calls it InitiateMultipartUpload, as nobody else does
		ID string `xml:"UploadId"`
	}
	start := call{method: http.MethodPost, query: url.Values{"uploads": {""}}, signed: http.Header{told: {u.Told}}}
	if err := c.document(ctx, &u.File, start, func() any { return &begun }); err != nil {
		return "", err
	}
	if begun.ID == "" { // a part without it would be the object
		return "", u.errorf(errs.ErrRead, "the server begins an upload in parts, and does not say which")
	}
	upload := url.Values{"uploadId": {begun.ID}}
	defer func() {
		if err != nil {
			drop := call{method: http.MethodDelete, query: upload}
			_ = c.ask(context.WithoutCancel(ctx), &u.File, drop, func(*http.Response, *stalling) error { return nil })
		}
	}()
	step := max(partSize, (size+9999)/10000)
	type part struct {
		Number int    `xml:"PartNumber"`
		Tag    string `xml:"ETag"`
	}
	all := struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Parts   []part   `xml:"Part"`
	}{Parts: make([]part, (size+step-1)/step)}
	var done atomic.Int64
	err = each(ctx, 4, len(all.Parts), func(ctx context.Context, i int) error {
		body := io.NewSectionReader(file, int64(i)*step, min(step, size-int64(i)*step))
		query := url.Values{"uploadId": {begun.ID}, "partNumber": {strconv.Itoa(i + 1)}}
		tag, err := c.put(ctx, &u.File, call{method: http.MethodPut, query: query, body: body})
		all.Parts[i] = part{i + 1, tag}
		c.Progress(done.Add(body.Size()), size)
		return err
	})
	if err != nil {
		return "", err
	}
	list, err := xml.Marshal(all)
	if err != nil {
		return "", err
	}
	var ended struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		Tag     string   `xml:"ETag"`
	}
	body := io.NewSectionReader(bytes.NewReader(list), 0, int64(len(list)))
	err = c.document(ctx, &u.File, call{method: http.MethodPost, query: upload, signed: once, body: body}, func() any { return &ended })
	return ended.Tag, err
}

// put sends bytes, and returns their ETag.
func (c *client) put(ctx context.Context, f *File, what call) (tag string, err error) {
	return tag, c.repeat(ctx, func() (int64, error) {
		return 0, c.ask(ctx, f, what, func(answer *http.Response, _ *stalling) error {
			tag = answer.Header.Get("ETag")
			return nil
		})
	})
}

// document asks for XML; S3 may say in it that what began well has failed.
func (c *client) document(ctx context.Context, f *File, what call, into func() any) error {
	return c.repeat(ctx, func() (int64, error) {
		return 0, c.ask(ctx, f, what, func(answer *http.Response, body *stalling) error {
			text, err := io.ReadAll(io.LimitReader(body, listing.page+1))
			if err != nil {
				return passing{cause: f.errorf(errs.ErrRead, "the connection ended early: %v", said(err, body))}
			}
			if int64(len(text)) > listing.page {
				return f.errorf(errs.ErrLimit, "the server sends more than %d bytes for a page of XML", listing.page)
			}
			if err := xml.Unmarshal(text, into()); err != nil {
				code := codeOfS3.FindSubmatch(text)
				if code != nil {
					return passing{cause: f.errorf(errs.ErrRead, "the server says %s", code[1])}
				}
				return f.errorf(errs.ErrRead, "the server's XML is not S3's: %.80s", fmt.Sprint(err))
			}
			return nil
		})
	})
}

// carry gives a request its body, with checksums of it: the SHA-256, which S3's signature has.
func carry(r *http.Request, body *io.SectionReader) (string, error) {
	sum, whole := md5.New(), sha256.New() // the server compares the MD5 even where nothing is signed
	if _, err := io.Copy(io.MultiWriter(sum, whole), io.NewSectionReader(body, 0, body.Size())); err != nil {
		return "", err
	}
	r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	r.Body, r.ContentLength = io.NopCloser(io.NewSectionReader(body, 0, body.Size())), body.Size()
	if body.Size() == 0 {
		r.Body = http.NoBody
	}
	return hex.EncodeToString(whole.Sum(nil)), nil
}
