package relay

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/concordia-node/concordia/wire"
)

// recents remember the last entry of sessions in which something was just appended, so
// that those who wait for it need not be given it by the driver, each by itself. What
// is remembered is a hint: it may be of an earlier entry, or missing.
type recents struct {
	seed  maphash.Seed
	slots [recentSlots]atomic.Pointer[recentEntry] // each for all sessions with one hash
}

// Bounds of what is remembered: 16 MiB in all.
const (
	recentSlots = 4096
	recentSize  = 4 << 10 // bytes of an entry
)

type recentEntry struct {
	session wire.SessionID
	entry   UnverifiedEntry
}

func (r *recents) slot(session wire.SessionID) *atomic.Pointer[recentEntry] {
	return &r.slots[maphash.String(r.seed, string(session))%recentSlots]
}

// remember notes the last entry of a session.
func (r *recents) remember(session wire.SessionID, e UnverifiedEntry) {
	if len(e.Text) <= recentSize {
		r.slot(session).Store(&recentEntry{session, e})
	}
}

// entry returns entry n of a session, if it was the last a moment ago.
func (r *recents) entry(session wire.SessionID, n uint64) *UnverifiedEntry {
	last := r.slot(session).Load()
	if last == nil || last.session != session || last.entry.Number != n {
		return nil
	}
	return &last.entry
}
