package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Dictionary numbers the distinct strings of a label column in order of first
// sight, or knows no others than those it was made of. Safe for concurrent use;
// readers cache it per goroutine (see Cache).
type Dictionary struct {
	mu     sync.Mutex
	ids    map[string]int64
	words  []string
	closed bool
}

// Unknown is the id of a word that a closed Dictionary does not have.
const Unknown = -1

// NewDictionary makes an empty dictionary.
func NewDictionary() *Dictionary { return &Dictionary{ids: map[string]int64{}} }

// Closed makes a dictionary of these words and no others.
func Closed(words []string) *Dictionary {
	d := NewDictionary()
	for _, word := range words {
		d.ID(word)
	}
	d.closed = true
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

// UnknownLabel is the text of an ErrLabel: the classes, as far as there is room.
func (d *Dictionary) UnknownLabel() string { return UnknownLabel(d.words, strconv.Quote) }

// UnknownLabel is the text of an ErrLabel for classes of any kind.
func UnknownLabel[T any](classes []T, show func(T) string) string {
	const most = 6
	var shown []string
	for _, class := range classes[:min(most, len(classes))] {
		shown = append(shown, show(class))
	}
	if len(classes) > most {
		shown = append(shown, fmt.Sprintf("... (%d in all)", len(classes)))
	}
	return "the label is not one of the classes " + strings.Join(shown, ", ") + ": correct it, or add it to classes="
}

// Cache is one goroutine's view of a Dictionary: known words cost no lock.
type Cache struct {
	dict *Dictionary
	ids  map[string]int64
}

// Has reports whether word is one of the words of a closed dictionary.
func (d *Dictionary) Has(word []byte) bool {
	if !d.closed {
		return false
	}
	_, ok := d.ids[string(word)] // nobody writes to it any more
	return ok
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
