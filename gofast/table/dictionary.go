package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
)

// Dictionary numbers the distinct strings of a column in order of first sight, or
// knows no others than those it was made of. Safe for concurrent use; readers
// cache it per goroutine (see Cache).
type Dictionary struct {
	mu     sync.Mutex
	ids    map[string]int64
	words  []string
	closed bool
	option string // that a closed one was made of
	noun   string // for a word that a closed one does not have
	kind   error  // of that

	budget *limits.Budget // of texts, whose bytes it counts; else nil
	held   int64
	full   *errs.Error // why there was no room for a text
	absent *string     // what stands for a missing text
}

// Unknown is the id of a word that a closed Dictionary does not have, and of a text that
// the budget has no room for.
const Unknown = -1

// NewDictionary makes an empty dictionary.
func NewDictionary() *Dictionary { return &Dictionary{ids: map[string]int64{}, noun: "label"} }

// NewTexts makes a dictionary of a column whose texts are kept, each once. Their bytes are the budget's until
// Release. absent stands for a missing text; nil: that is an error.
func NewTexts(budget *limits.Budget, absent *string) *Dictionary {
	d := NewDictionary()
	d.noun, d.budget, d.absent = "text", budget, absent
	return d
}

// Release gives the bytes of texts back.
func (d *Dictionary) Release() {
	if d.budget != nil {
		d.budget.Release(d.held)
		d.held = 0
	}
}

// Verbatim says that every word is one, also where it looks like a number.
func (d *Dictionary) Verbatim() bool { return d.budget != nil }

// Noun is what the words are, for an error.
func (d *Dictionary) Noun() string { return d.noun }

// Missing is the number of the text that stands for a missing one; Unknown and why without.
func (d *Dictionary) Missing() (id int64, why string) {
	switch {
	case d.absent != nil:
		if id = d.ID(*d.absent); id == Unknown {
			why, _ = d.Refuse()
		}
		return id, why
	case d.budget != nil:
		return Unknown, "the text is missing: fill it in, drop the row, or say what stands for it: gofast.tokens.Text(..., missing=\"\")"
	default:
		return Unknown, MissingLabel
	}
}

// MissingLabel is what is wrong with an empty label.
const MissingLabel = "the label is missing: fill it in, or drop the row"

// entryBytes are what a text costs beside its own bytes.
const entryBytes = 64

// Closed makes a dictionary of these words and no others: the classes of a label.
func Closed(words []string) *Dictionary {
	d := NewDictionary()
	for _, word := range words {
		d.ID(word)
	}
	d.closed, d.option, d.noun, d.kind = true, "classes", "label", errs.ErrLabel
	return d
}

// ID returns the number of word, adding it when it is new; Unknown where the
// dictionary is closed.
func (d *Dictionary) ID(word string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.ids[word]
	switch {
	case !ok && (d.closed || !d.take(len(word)+entryBytes)):
		return Unknown
	case !ok:
		id = int64(len(d.words))
		d.ids[word] = id
		d.words = append(d.words, word)
	}
	return id
}

// take counts the bytes of a new text, if there is room for them.
func (d *Dictionary) take(bytes int) bool {
	if d.budget == nil {
		return true
	}
	if err := d.budget.Reserve(int64(bytes), "a column of texts"); err != nil {
		errors.As(err, &d.full)
		return false
	}
	d.held += int64(bytes)
	return true
}

// Words returns the words by their ids.
func (d *Dictionary) Words() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.words)
}

// Sorted returns the words in sorted order, and for every id its place there.
func (d *Dictionary) Sorted() (words []string, place []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	words = slices.Clone(d.words)
	slices.Sort(words)
	rank := make(map[string]int64, len(words))
	for i, w := range words {
		rank[w] = int64(i)
	}
	place = make([]int64, len(words))
	for id, w := range d.words {
		place[id] = rank[w]
	}
	return words, place
}

// Refuse is the text and the kind of the error of a word whose id is Unknown.
func (d *Dictionary) Refuse() (text string, kind error) {
	d.mu.Lock()
	full := d.full
	d.mu.Unlock()
	if full != nil {
		return full.Text, errs.ErrLimit
	}
	return refusal(d.noun, d.option, listed(d.words, func(word string) string { return strconv.Quote(errs.Cut(word)) })), d.kind
}

// UnknownLabel is the text of an ErrLabel for classes that are integers.
func UnknownLabel(classes []int64) string {
	return refusal("label", "classes", listed(classes, func(v int64) string { return strconv.FormatInt(v, 10) }))
}

func refusal(noun, option, words string) string {
	return fmt.Sprintf("the %s is not one of the %s %s: correct it, or add it to %[2]s=", noun, option, words)
}

// listed shows the words as far as there is room.
func listed[T any](words []T, show func(T) string) string {
	const most = 6
	var shown []string
	for _, word := range words[:min(most, len(words))] {
		shown = append(shown, show(word))
	}
	if len(words) > most {
		shown = append(shown, fmt.Sprintf("... (%d in all)", len(words)))
	}
	return strings.Join(shown, ", ")
}

// Cache is one goroutine's view of a Dictionary: known words cost no lock.
type Cache struct {
	dict *Dictionary
	ids  map[string]int64
}

// Find is the number of a word of a closed dictionary; Unknown for any other.
func (d *Dictionary) Find(word []byte) int64 {
	if d.closed {
		if id, ok := d.ids[string(word)]; ok { // nobody writes to it any more
			return id
		}
	}
	return Unknown
}

// Cache makes a view for one goroutine.
func (d *Dictionary) Cache() *Cache { return &Cache{dict: d, ids: map[string]int64{}} }

// ID returns the number of word without keeping word itself.
func (c *Cache) ID(word []byte) int64 {
	if id, ok := c.ids[string(word)]; ok {
		return id
	}
	own := string(word)
	id := c.dict.ID(own)
	if id != Unknown {
		c.ids[own] = id
	}
	return id
}
