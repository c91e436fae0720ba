package decode

import (
	"slices"
	"sync"
)

// Dictionary numbers the distinct strings of a label column in order of first
// sight. Safe for concurrent use; readers cache it per goroutine (see Cache).
type Dictionary struct {
	mu    sync.Mutex
	ids   map[string]int64
	words []string
}

// NewDictionary makes an empty dictionary.
func NewDictionary() *Dictionary { return &Dictionary{ids: map[string]int64{}} }

// ID returns the number of word, adding it when it is new.
func (d *Dictionary) ID(word string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.ids[word]
	if !ok {
		id = int64(len(d.words))
		d.ids[word] = id
		d.words = append(d.words, word)
	}
	return id
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

// Cache is one goroutine's view of a Dictionary: known words cost no lock.
type Cache struct {
	dict *Dictionary
	ids  map[string]int64
}

// Cache makes a view for one goroutine.
func (d *Dictionary) Cache() *Cache { return &Cache{dict: d, ids: map[string]int64{}} }

// ID returns the number of word without keeping word itself.
func (c *Cache) ID(word []byte) int64 {
	if id, ok := c.ids[string(word)]; ok {
		return id
	}
	id := c.dict.ID(string(word))
	c.ids[string(word)] = id
	return id
}
