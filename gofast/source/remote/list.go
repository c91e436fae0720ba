package remote

import (
	"context"
	"encoding/xml"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Listing says which objects of a bucket are asked for.
type Listing struct {
	File `json:"file"` // s3://bucket, or s3://bucket/ and what their keys begin with
	Flat bool          `json:"flat"` // without those that have a further slash
}

// Object is one of a bucket's.
type Object struct {
	Key  string `json:"key"`
	Size int64  `json:"size"`
	Tag  string `json:"tag"` // ETag, or ""
}

// limits of a listing: a server may say anything.
type limits struct {
	page  int64 // bytes of an answer
	empty int   // answers in a row that have no object, and say that there are more
	bytes int   // of all keys and tags, with 64 more for each
}

const longestKey = 1024 // bytes, says S3

var listing = limits{page: 16 << 20, empty: 1000, bytes: 1 << 30}

// answered is the XML of ListObjectsV2.
type answered struct {
	XMLName   xml.Name `xml:"ListBucketResult"`
	Encoding  string   `xml:"EncodingType"`
	Truncated bool     `xml:"IsTruncated"`
	Next      string   `xml:"NextContinuationToken"`
	Contents  []struct {
		Key  string
		Size int64
		Tag  string `xml:"ETag"`
	}
}

// List gives the objects in the order of the server's pages. Each is there once.
func List(ctx context.Context, l *Listing, options Options) ([]Object, error) {
	c := newClient(options)
	_, prefix, _ := strings.Cut(strings.TrimPrefix(l.URL, "s3://"), "/")
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {prefix}}
	if l.Flat {
		query.Set("delimiter", "/")
	}
	found, seen := []Object{}, map[string]bool{}
	for held, empty := 0, 0; ; {
		page, err := c.page(ctx, &l.File, query)
		if err != nil {
			return nil, err
		}
		for _, each := range page.Contents {
			o := Object{each.Key, each.Size, each.Tag}
			if page.Encoding == "url" {
				if o.Key, err = url.QueryUnescape(each.Key); err != nil {
					return nil, l.errorf(errs.ErrRead, "the listing has a key of wrong escapes, %.80q", each.Key)
				}
			}
			switch {
			case len(o.Key) > longestKey:
				return nil, l.errorf(errs.ErrRead, "the listing has a key of %d bytes, and those of S3 have at most %d", len(o.Key), longestKey)
			case !utf8.ValidString(o.Key) || !strings.HasPrefix(o.Key, prefix) || o.Size < 0:
				return nil, l.errorf(errs.ErrRead, "the listing has an object that makes no sense: %.80q, %d bytes", o.Key, o.Size)
			case seen[o.Key]:
				return nil, l.errorf(errs.ErrChanged, "the listing has %.80q twice: it changed while it was read", o.Key)
			}
			seen[o.Key] = true
			if held += len(o.Key) + len(o.Tag) + 64; held > listing.bytes {
				return nil, l.errorf(errs.ErrLimit, "the listing has more than %d objects: give a longer beginning of their names", len(found))
			}
			found = append(found, o)
		}
		if empty++; len(page.Contents) > 0 {
			empty = 0
		}
		switch {
		case !page.Truncated:
			return found, nil
		case page.Next == "" || page.Next == query.Get("continuation-token") || empty > listing.empty:
			return nil, l.errorf(errs.ErrRead, "the listing has no end: it says that there are more objects, and not which")
		}
		query.Set("continuation-token", page.Next)
	}
}

func (c *client) page(ctx context.Context, f *File, query url.Values) (*answered, error) {
	var page *answered
	return page, c.document(ctx, f, call{query: query}, func() any { page = &answered{}; return page })
}
