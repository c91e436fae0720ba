package source

import "golang.org/x/sys/unix"

// blocks is memory for what is fetched, within a budget. Blocks are used again: fresh
// memory costs page faults. They lie outside of Go's heap, where C may point to them.
type blocks struct {
	budget int64
	held   int64              // bytes of all blocks
	free   map[int64][][]byte // by their size
}

// blockSize is the size of the block for n bytes: of a few sizes, at most an eighth larger,
// so that the next picture fits where one was.
func blockSize(n int64) int64 {
	step := int64(4096)
	for 16*step <= n {
		step *= 2
	}
	return max((n+step-1)/step*step, step)
}

// take is a block with room for n bytes, or nil where the budget has none.
func (b *blocks) take(n int64) ([]byte, error) {
	size := blockSize(n)
	if all := b.free[size]; len(all) > 0 {
		b.free[size] = all[:len(all)-1]
		return all[len(all)-1], nil
	}
	for other, all := range b.free {
		for len(all) > 0 && b.held+size > b.budget {
			b.drop(all[len(all)-1])
			all = all[:len(all)-1]
		}
		b.free[other] = all
	}
	if b.held+size > b.budget {
		return nil, nil
	}
	block, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		b.held += size
	}
	return block, err
}

// put takes a block back.
func (b *blocks) put(block []byte) {
	b.free[int64(len(block))] = append(b.free[int64(len(block))], block)
}

func (b *blocks) drop(block []byte) {
	b.held -= int64(len(block))
	_ = unix.Munmap(block) // cannot fail for a mapping of ours
}

func (b *blocks) dropFree() {
	for _, all := range b.free {
		for _, block := range all {
			b.drop(block)
		}
	}
	clear(b.free)
}
