package relay

import "sync"

// Sizes of pages of a log, in bytes of entries.
const (
	pageSize    = 1 << 20  // in one answer, about
	minPageSize = 16 << 10 // when others are under way; one entry goes always
	allPages    = 64 << 20 // under way, about
)

// pages bounds what answers with pages of logs take in memory until clients have taken
// them: the more are under way, the shorter is the next. Nobody waits for others.
type pages struct {
	mu       sync.Mutex
	underWay int // bytes
}

// take returns how long a page may be, until give is called.
func (p *pages) take() (size int, give func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size = min(pageSize, max(minPageSize, (allPages-p.underWay)/16))
	p.underWay += size
	return size, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.underWay -= size
	}
}
