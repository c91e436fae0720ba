package folder

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// points are the code points of the string that os.fsdecode makes of name.
func points(name string) []rune {
	var out []rune
	for name != "" {
		r, size := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && size == 1 {
			r = 0xdc00 + rune(name[0])
		}
		out = append(out, r)
		name = name[size:]
	}
	return out
}

// pythonEnds is name.lower().endswith(extension) for an ASCII extension.
func pythonEnds(name, extension string) bool {
	var lower []rune
	for _, r := range points(name) {
		switch r {
		case 'İ':
			lower = append(lower, 'i', '\u0307')
		default:
			lower = append(lower, unicode.ToLower(r))
		}
	}
	want := []rune(extension)
	return len(lower) >= len(want) && slices.Equal(lower[len(lower)-len(want):], want)
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"", "a.jpg", "a.JPG", ".jpg", "jpg", "b.Jpeg", "é", "\xe9", "\xed\xb2\x80", "😀\xf0\x9f\x98", "a\xe2\x82", "€", "\ufffd", "\uffff",
		"x.m\u212av", "x.m\u212aV", "\u0130jpg", "\xf4\x8f\xbf\xbf", "\\\"\n\t/", "\u2028<&>", "\xaajpg", "\x84\xaa", "\\udc80", "\\ufffd",
	} {
		f.Add(s, "a\xff.jpg", ".mkv")
	}
	f.Fuzz(func(t *testing.T, a, b, extension string) {
		text, err := json.Marshal(Name(a))
		if err != nil || !utf8.Valid(text) {
			t.Fatalf("%q: %s, %v", a, text, err)
		}
		var back Name
		if err := json.Unmarshal(text, &back); err != nil || string(back) != a {
			t.Errorf("%q came back as %q, %v", a, back, err)
		}
		if got, want := strings.Compare(key(a), key(b)), slices.Compare(points(a), points(b)); got != want {
			t.Errorf("%q against %q: %d, want %d", a, b, got, want)
		}
		names := []string{a, b}
		if sortNames(names); slices.Compare(points(names[0]), points(names[1])) > 0 {
			t.Errorf("%q is sorted before %q", names[0], names[1])
		}
		for _, extension := range []string{extension, ".jpg", ".mkv", ""} {
			if strings.IndexFunc(extension, func(r rune) bool { return r >= 0x80 }) >= 0 {
				continue
			}
			if got, want := ends([]byte(a), []string{extension}), pythonEnds(a, extension); got != want {
				t.Errorf("%q ends with %q: %v, want %v", a, extension, got, want)
			}
		}
	})
}

func FuzzNameFromJSON(f *testing.F) {
	for _, s := range []string{`"a"`, `"\udc80\ud83d\ude00\ud83dx"`, `"\ud800\udc80"`, `"\u0041\\u0041\n"`, `"\"`, `1`, `null`, `"\udc7f"`, `"\ufffd"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var name Name
		if err := name.UnmarshalJSON(text); err != nil {
			return
		}
		if !json.Valid(text) {
			t.Errorf("%q was taken", text)
		}
	})
}

func TestNamesOfPythonsJSON(t *testing.T) {
	// json.dumps([os.fsdecode(b"caf\xe9 \xf0\x9f\x98\x80 \xff"), "a/\\\"\n"]), and again with ensure_ascii=False
	for _, text := range []string{`["caf\udce9 \ud83d\ude00 \udcff", "a/\\\"\n"]`, `["caf\udce9 😀 \udcff", "a/\\\"\n"]`} {
		var names []Name
		if err := json.Unmarshal([]byte(text), &names); err != nil {
			t.Fatal(err)
		}
		if want := []Name{"caf\xe9 😀 \xff", "a/\\\"\n"}; !slices.Equal(names, want) {
			t.Errorf("%q, want %q", names, want)
		}
	}
	for _, text := range []string{`"\ud800"`, `"\udc7f"`, `"\udd00"`, `"\ud800\u0041"`, `7`, `["a"]`} {
		var name Name
		if err := json.Unmarshal([]byte(text), &name); err == nil {
			t.Errorf("%s was taken as %q", text, name)
		}
	}
}
