package remote

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

const head = `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`

func listed(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) ([]Object, error) {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		answer(w, r, n)
	}))
	defer s.Close()
	l := &Listing{File: File{URL: "s3://bkt/a b/", S3: S3{Key: "k", Secret: "s", Region: "x", Endpoint: s.URL}}}
	return List(t.Context(), l, Options{Pause: time.Millisecond})
}

func TestListing(t *testing.T) {
	found, err := listed(t, func(w http.ResponseWriter, r *http.Request, n int) {
		q := r.URL.Query()
		if r.URL.Path != "/bkt" || q.Get("prefix") != "a b/" || !strings.Contains(r.Header.Get("Authorization"), "Credential=k/") {
			t.Errorf("%v %v", r.URL, r.Header)
		}
		switch {
		case n == 1:
			w.WriteHeader(503)
		case q.Get("continuation-token") == "":
			fmt.Fprint(w, head, `<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>1+/=</NextContinuationToken>`,
				`<Contents><Key>a+b/%2B%0A%C3%A4</Key><Size>7</Size><ETag>&quot;e&quot;</ETag></Contents></ListBucketResult>`)
		case q.Get("continuation-token") == "1+/=":
			fmt.Fprint(w, head, `<Contents><Key>a b/+</Key><Size>0</Size></Contents></ListBucketResult>`) // not encoded
		}
	})
	if err != nil || fmt.Sprint(found) != "[{a b/+\nä 7 \"e\"} {a b/+ 0 }]" {
		t.Errorf("%v, %v", found, err)
	}
}

func TestListingsThatLie(t *testing.T) {
	before := listing
	defer func() { listing = before }()
	listing = limits{page: 100_000, empty: 5, bytes: 5000}
	object := func(key string) string { return "<Contents><Key>" + key + "</Key><Size>1</Size></Contents>" }
	more := func(n int) string {
		return fmt.Sprintf("<IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", n)
	}
	for name, c := range map[string]struct {
		kind   error
		text   string
		answer func(n int) string
	}{
		"endless pages": {errs.ErrLimit, "more than 6", func(n int) string {
			return head + more(n) + object(fmt.Sprintf("a b/%700d", n)) + "</ListBucketResult>"
		}},
		"long tags": {errs.ErrLimit, "more than 4", func(n int) string {
			return head + more(n) + fmt.Sprintf("<Contents><Key>a b/%d</Key><Size>1</Size><ETag>%1000d</ETag></Contents></ListBucketResult>", n, n)
		}},
		"endless empty pages": {errs.ErrRead, "no end", func(n int) string { return head + more(n) + "</ListBucketResult>" }},
		"the same page":       {errs.ErrRead, "no end", func(int) string { return head + more(1) + "</ListBucketResult>" }},
		"no token":            {errs.ErrRead, "no end", func(int) string { return head + "<IsTruncated>true</IsTruncated></ListBucketResult>" }},
		"a long key":          {errs.ErrRead, "65540 bytes", func(int) string { return head + object("a b/"+strings.Repeat("x", 1<<16)) + "</ListBucketResult>" }},
		"a long page":         {errs.ErrLimit, "a page of XML", func(int) string { return head + strings.Repeat("<x></x>", 1<<15) }},
		"a truncated page":    {errs.ErrRead, "XML is not S3's", func(int) string { return head + object("a b/c") + "<Cont" }},
		"somebody else's":     {errs.ErrRead, "XML is not S3's", func(int) string { return "<html></html>" }},
		"nothing":             {errs.ErrRead, "XML is not S3's", func(int) string { return "" }},
		"an entity": {errs.ErrRead, "XML is not S3's", func(int) string {
			return `<!DOCTYPE x [<!ENTITY e "ee">]>` + head + object("a b/&e;") + "</ListBucketResult>"
		}},
		"a negative size": {errs.ErrRead, "no sense", func(int) string {
			return head + "<Contents><Key>a b/c</Key><Size>-1</Size></Contents></ListBucketResult>"
		}},
		"another folder's": {errs.ErrRead, "no sense", func(int) string { return head + object("b") + "</ListBucketResult>" }},
		"broken escapes": {errs.ErrRead, "wrong escapes", func(int) string {
			return head + "<EncodingType>url</EncodingType>" + object("a+b/%zz") + "</ListBucketResult>"
		}},
		"no UTF-8": {errs.ErrRead, "no sense", func(int) string {
			return head + "<EncodingType>url</EncodingType>" + object("a+b/%ff") + "</ListBucketResult>"
		}},
		"one that changes": {errs.ErrChanged, "twice", func(n int) string { return head + more(n) + object("a b/c") + "</ListBucketResult>" }},
	} {
		_, err := listed(t, func(w http.ResponseWriter, _ *http.Request, n int) { fmt.Fprint(w, c.answer(n)) })
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "s3://bkt/a%20b/") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
