// Package transform is the small language in which a command line says what is made of
// pictures: "resize=256,centercrop=224,hflip,normalize=imagenet". A word is a transform of
// torchvision's, with torchvision's defaults.
package transform

import (
	"fmt"
	"strings"

	"github.com/gofast-org/gofast/gofast/image"
)

// Default is what torchvision's classifiers are evaluated with.
const Default = "resize=256,centercrop=224,normalize=imagenet"

// Error is a text that is none of the language.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Parse makes the plan of a text. The second result is the text in its only spelling, so
// that equal work has equal texts. Every error is an *Error that says what there is.
func Parse(text string) (image.Plan, string, error) {
	b := builder{filter: "bilinear", spelledBy: "bilinear", dtype: "float32", channels: 3}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part == "" {
			continue
		}
		name, value, given := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		word := find(name)
		switch {
		case word == nil:
			return image.Plan{}, "", errorf("%q is no transform; there are:\n%s", name, Words())
		case given && value == "":
			return image.Plan{}, "", errorf("%s= has no value: write %s", name, word.form)
		}
		if err := word.add(&b, value); err != nil {
			return image.Plan{}, "", errorf("%s: %v; write %s", part, err, word.form)
		}
	}
	return b.plan()
}

// Words lists the language, a word a line.
func Words() string {
	var s strings.Builder
	for _, w := range words {
		fmt.Fprintf(&s, "  %-32s %s\n", w.form, w.says)
	}
	return strings.TrimSuffix(s.String(), "\n")
}

func find(name string) *word {
	for i := range words {
		if known, _, _ := strings.Cut(words[i].form, "="); strings.TrimSuffix(known, "[") == name {
			return &words[i]
		}
	}
	return nil
}
