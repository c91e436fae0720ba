package foreign

import (
	"strings"
	"testing"
)

// What writers of the formats write is tested in python/tests/tables/test_formats.py.

func TestAdvice(t *testing.T) {
	for head, says := range map[string]string{
		"":                                 "",
		"\xff":                             "",
		"\x80":                             "",
		"[":                                "",
		"{":                                "",
		"{}":                               "JSON",
		" \n[-1":                           "JSON",
		"\xef\xbb\xbf{\"a\":1}":            "JSON",
		"{\"a\":1}\r\n{\"a\":2}\r\n":       "lines=True",
		"<?XML":                            "XML",
		"a\x00b\x00":                       "",
		"a\x00,\x00b\x00\n\x00":            "UTF-16LE",
		"\x01\x00\x02\x00\x03\x00\x04\x00": "",
		"\x80\x04\x95":                     "pickle",
		"\x80\x06\x95":                     "",
		"a,b\n1,2\n":                       "",
		"\x05\x00\x00\x00\x00\x00\x00\x00\xea\xb2\x04\x3e": "gofast.TFRecordDataset",
		"\x05\x00\x00\x00\x00\x00\x00\x00\xea\xb2\x04\x3f": "",
		strings.Repeat("x", 257) + "ustar":                 "tar",
		strings.Repeat("x", 1000) + "ustar":                "",
	} {
		if got := Advice([]byte(head)); says == "" && got != "" || !strings.Contains(got, says) {
			t.Errorf("%.20q: %q, want %q", head, got, says)
		}
	}
}

func TestZipAdvice(t *testing.T) {
	for _, c := range []struct {
		names []string
		says  string
	}{
		{[]string{"a.npy", "b.npy"}, ""},
		{nil, ""},
		{[]string{"a.npy", "b.txt"}, `"b.txt"`},
		{[]string{"model/data.pkl", "model/version"}, "torch.load"},
	} {
		if got := ZipAdvice(c.names); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%q: %q, want %q", c.names, got, c.says)
		}
	}
}
