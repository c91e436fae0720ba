package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/errs"
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
}

// Unknown is the id of a word that a closed Dictionary does not have.
const Unknown = -1

// NewDictionary makes an empty dictionary.
func NewDictionary() *Dictionary { return &Dictionary{ids: map[string]int64{}} }

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
	case !ok && d.closed:
		return Unknown
	case !ok:
		id = int64(len(d.words))
		d.ids[word] = id
		d.words = append(d.words, word)
	}
	return id
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

// Refuse is the text and the kind of the error of a word that a closed dictionary
// does not have.
func (d *Dictionary) Refuse() (text string, kind error) {
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
	id := c.dict.ID(string(word))
	if id != Unknown {
		c.ids[string(word)] = id
	}
	return id
}
