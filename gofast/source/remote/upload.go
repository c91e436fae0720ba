package remote

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
)

// carry gives a request its body, with checksums of it: the SHA-256, which S3's signature has.
func carry(r *http.Request, body *io.SectionReader) (string, error) {
	sum, whole := md5.New(), sha256.New() // S3 asks for MD5: where nothing is signed, it alone is compared
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
