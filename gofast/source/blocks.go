package source

import (
	"slices"

	"golang.org/x/sys/unix"
)

// blocks is memory for what is fetched, within a budget. Blocks are used again: fresh
// memory costs page faults. They lie outside of Go's heap, where C may point to them.
type blocks struct {
	budget int64
	held   int64              // bytes of all blocks that may have memory
	free   map[int64][][]byte // by their size
	empty  map[int64][][]byte // likewise; their memory went back to the system
	slabs  [][]byte           // which all of them are parts of
	rests  [][]byte           // parts of slabs that were in no block yet
	page   int64              // bytes that the system takes back at a time
}

// slabBytes are mapped at once, as huge pages where the system has them. A mapping for each
// block cost 50 ms at the end of 4,000 pictures, and 20,000 faults before it. A large block
// is a slab of its own, lest it leave much of one.
const (
	slabBytes  = 4 << 20
	largeBlock = 1 << 20
)

func newBlocks(budget int64) blocks {
	return blocks{budget: budget, free: map[int64][][]byte{}, empty: map[int64][][]byte{}, page: int64(unix.Getpagesize())}
}

// size is that of the block for n bytes: of a few sizes, at most an eighth larger, so that
// the next picture fits where one was. Blocks are whole pages: the memory of one that gives
// way goes back without its neighbours'.
func (b *blocks) size(n int64) int64 {
	step := b.page
	for step <= n/16 { // 16*step may be more than an int64 holds
		step *= 2
	}
	return max((n+step-1)/step*step, step)
}

// take is a block with room for n bytes, or nil where the budget has none.
func (b *blocks) take(n int64) (block []byte, err error) {
	size := b.size(n)
	if block = pop(b.free, size); block != nil {
		return block, nil
	}
	for other := range b.free { // those that are kept for other sizes give way
		for b.held+size > b.budget && len(b.free[other]) > 0 {
			idle := pop(b.free, other)
			_ = unix.Madvise(idle, unix.MADV_DONTNEED) // cannot fail for memory of ours
			b.held -= other
			b.empty[other] = append(b.empty[other], idle)
		}
	}
	if b.held+size > b.budget {
		return nil, nil
	}
	if block = pop(b.empty, size); block == nil {
		if block, err = b.cut(size); err != nil {
			return nil, err
		}
	}
	b.held += size
	return block, nil
}

// cut is a block of memory that was in none.
func (b *blocks) cut(size int64) ([]byte, error) {
	i := slices.IndexFunc(b.rests, func(rest []byte) bool { return int64(len(rest)) >= size })
	if i < 0 {
		mapped := size
		if size < largeBlock {
			mapped = slabBytes
		}
		slab, err := unix.Mmap(-1, 0, int(mapped), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return nil, err
		}
		_ = unix.Madvise(slab, unix.MADV_HUGEPAGE) // without them it is slower, not wrong
		b.slabs = append(b.slabs, slab)
		i, b.rests = len(b.rests), append(b.rests, slab)
	}
	block := b.rests[i][:size:size]
	if b.rests[i] = b.rests[i][size:]; len(b.rests[i]) == 0 {
		b.rests = slices.Delete(b.rests, i, i+1)
	}
	return block, nil
}

func pop(lists map[int64][][]byte, size int64) []byte {
	all := lists[size]
	if len(all) == 0 {
		return nil
	}
	lists[size] = all[:len(all)-1]
	return all[len(all)-1]
}

// put takes a block back.
func (b *blocks) put(block []byte) {
	b.free[int64(len(block))] = append(b.free[int64(len(block))], block)
}

// unmap ends all blocks, those that were not put back too.
func (b *blocks) unmap() {
	for _, slab := range b.slabs {
		_ = unix.Munmap(slab) // cannot fail for a mapping of ours
	}
	*b = blocks{}
}
