package relay

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/concordia-node/concordia/wire"
)

// What is under way on one connection, unacknowledged, and what is taken from one log
// before it is the next one's turn.
const (
	windowEntries = 256
	windowSize    = 1 << 20
	turnEntries   = 32
	turnSize      = 64 << 10
)

// maxQueued and maxTracks bound what a connection remembers of sessions. Beyond the one
// it looks for news in all sessions of the agent, instead of in those it was told of;
// beyond the other it forgets what has been acknowledged.
const (
	maxQueued = 1024
	maxTracks = 4096
)

// A delivery is what a connection knows of what its agent has not got yet. The entries
// themselves stay in the logs until the client takes them.
type delivery struct {
	// pushing is held from choosing a frame until it is written, so that nothing of the
	// old place comes after the answer to resume.
	pushing sync.Mutex

	mu      sync.Mutex // guards what follows
	running bool
	scan    bool           // there may be news in any session behind after
	after   wire.SessionID //
	queue   []wire.SessionID
	places  map[wire.SessionID]place
	held    []wire.SessionID // have entries, and the window was full: the one that waits longest first
	frees   int              // how often something was acknowledged
	tries   int              // how many that are held to try since then
	more    bool             // there are others than held
	later   []postponed      // are being appended to
	tracks  map[wire.SessionID]*track
	current wire.SessionID // whose turn it is
	entries int            // under way
	size    int            // of them, in bytes
}

// A postponed session waits for the answers to appends of this connection: the entry
// goes with the answer.
type postponed struct {
	session wire.SessionID
	appends int
	hints   int // that came meanwhile
}

// A place is where a session waits.
//
// Each entry that is appended and each change has a hint of its own, which comes after it. So
// who answers one hint with one entry that it remembers owes nothing: whatever else there
// is has a hint that is still to come. Who has got several at once, or anything else than a
// hint, asks the log.
type place byte

const (
	isHeld place = 1 << iota
	isQueued
	isUnsure // the log is to be asked
)

// A track is how far the delivery of one log has come.
type track struct {
	sent    uint64  // the last entry that was sent
	started bool    // else the cursor says where to start
	pinned  bool    // the client said where, and the cursor is not there yet
	sizes   []int32 // of the entries up to sent that are under way
	seen    string  // what was told of the session, in short
	invited bool    // the invitation was told
	told    bool    // what the session is was told
}

// wake is told that there is news in a session. It does not block.
func (c *socket) wake(session wire.SessionID) {
	d := &c.delivery
	d.mu.Lock()
	i := d.postponedAt(session)
	if i >= 0 {
		d.later[i].hints++
	} else {
		d.enqueue(session, 0)
	}
	d.mu.Unlock()
	if i < 0 {
		c.deliverSoon()
	}
}

func (d *delivery) postponedAt(session wire.SessionID) int {
	return slices.IndexFunc(d.later, func(p postponed) bool { return p.session == session })
}

// postpone has a session wait until appended is called.
func (d *delivery) postpone(session wire.SessionID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.postponedAt(session); i >= 0 {
		d.later[i].appends++
		return
	}
	d.later = append(d.later, postponed{session: session, appends: 1})
}

// appended sends the entry that was just appended on this connection, if it is the next
// of its session, and has the session wait no longer. Number 0 stands for none.
func (c *socket) appended(session wire.SessionID, number uint64) {
	d := &c.delivery
	sent := c.pushRecent(session, number)
	d.mu.Lock()
	i := d.postponedAt(session)
	p := &d.later[i]
	if sent && p.hints > 0 {
		p.hints--
	}
	if p.appends--; p.appends > 0 {
		d.mu.Unlock()
		return
	}
	hints := p.hints
	d.later = slices.Delete(d.later, i, i+1)
	if hints == 1 {
		d.enqueue(session, 0)
	} else if hints > 1 {
		d.enqueue(session, isUnsure)
	}
	d.mu.Unlock()
	if hints > 0 {
		c.deliverSoon()
	}
}

// pushRecent sends an entry of a log if it is remembered, the next, and all there is to
// tell of it.
func (c *socket) pushRecent(session wire.SessionID, number uint64) bool {
	e := c.server.mail.recent.entry(session, number)
	if e == nil {
		return false
	}
	d := &c.delivery
	d.mu.Lock()
	t := d.tracks[session]
	next := t != nil && t.told && t.sent+1 == number
	d.mu.Unlock()
	if !next {
		return false
	}
	sent, _ := c.pushEntry(session, t, e)
	return sent
}

// rescan looks for news in all sessions.
func (c *socket) rescan() {
	d := &c.delivery
	d.mu.Lock()
	if !d.scan {
		d.scan, d.after = true, ""
	}
	d.mu.Unlock()
	c.deliverSoon()
}

// enqueue puts a session into the queue: for a hint, or if that is unsure to ask its log.
func (d *delivery) enqueue(session wire.SessionID, unsure place) {
	was := d.places[session]
	switch {
	case was&isQueued != 0:
		unsure = isUnsure
	case len(d.queue) >= maxQueued:
		d.scan, d.after = true, ""
		return
	default:
		if was&isHeld != 0 {
			unsure = isUnsure // it has entries already
		}
		d.queue = append(d.queue, session)
	}
	if d.places == nil {
		d.places = map[wire.SessionID]place{}
	}
	d.places[session] = was | isQueued | unsure
}

// next takes a session out of the queue, and reports whether it is there for one hint.
func (d *delivery) next() (session wire.SessionID, hinted bool) {
	session = d.queue[0]
	d.queue = d.queue[1:]
	was := d.places[session]
	d.leave(session, isQueued|isUnsure)
	return session, was&isUnsure == 0
}

func (d *delivery) leave(session wire.SessionID, where place) {
	if d.places[session] &^= where; d.places[session] == 0 {
		delete(d.places, session)
	}
}

// hold has a session wait until the window has room again.
func (d *delivery) hold(session wire.SessionID) {
	switch {
	case d.places[session]&isHeld != 0:
		return
	case len(d.held) >= maxQueued:
		d.more = true
		return
	}
	if d.places == nil {
		d.places = map[wire.SessionID]place{}
	}
	d.places[session] |= isHeld
	d.held = append(d.held, session)
}

// freed notes that the window may have room for sessions that are held.
func (d *delivery) freed() {
	d.frees++
	d.tries = len(d.held)
}

// mayRelease reports whether there is a held session to try, and room in the window.
func (d *delivery) mayRelease() bool {
	return (d.tries > 0 || d.more && len(d.held) == 0) && !d.isFull(0)
}

// release puts as many held sessions into the queue as the window may have room for. Each
// is tried once after an acknowledgement: it may have an entry that is too large still.
func (d *delivery) release() {
	n := min(d.tries, len(d.held), max(1, windowEntries-d.entries))
	for _, session := range d.held[:n] {
		d.leave(session, isHeld)
		d.enqueue(session, isUnsure)
	}
	d.tries -= n
	if d.held = d.held[n:]; len(d.held) == 0 {
		d.held, d.tries = nil, 0
		if d.more {
			d.more, d.scan, d.after = false, true, ""
		}
	}
}

// deliverSoon starts the goroutine that delivers, unless it runs.
func (c *socket) deliverSoon() {
	d := &c.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running && (len(d.queue) > 0 || d.scan || d.mayRelease()) && !c.closing.Load() {
		d.running = true
		c.server.workers.do(c.deliver)
	}
}

// deliver delivers, a turn of each session after the other, until there is no more or
// the window is full.
func (c *socket) deliver() {
	d := &c.delivery
	for {
		d.mu.Lock()
		if len(d.queue) == 0 && !d.scan && d.mayRelease() {
			d.release()
		}
		if c.closing.Load() || len(d.queue) == 0 && !d.scan {
			d.running = false
			if len(d.queue) == 0 {
				d.queue = nil // and what it had grown to
			}
			d.mu.Unlock()
			return
		}
		if len(d.queue) == 0 {
			after := d.after
			d.mu.Unlock()
			c.look(after)
			continue
		}
		session, hinted := d.next()
		d.current = session
		t := d.track(session)
		from, entries, size := uint64(0), min(turnEntries, windowEntries-d.entries), min(turnSize, windowSize-d.size)
		if t.started {
			from = t.sent + 1
		}
		frees := d.frees
		d.mu.Unlock()
		if hinted && c.pushRecent(session, from) {
			continue
		}
		if size <= 0 {
			entries = 0
		}
		n, err := c.server.mail.news(c.ctx, c.agent.ID, session, from, entries, size)
		switch {
		case err == nil:
			c.tell(session, t, entries > 0, frees, &n)
		case CodeOf(err) == CodeNotFound:
			d.mu.Lock()
			d.forget(session)
			d.mu.Unlock()
		case c.ctx.Err() == nil: // the next ping looks again
			c.server.opts.Log.Error("delivery failed", "agent", c.agent.ID, "error", err)
		}
	}
}

// look finds sessions with news, behind a given one.
func (c *socket) look(after wire.SessionID) {
	var invitations []Invitation
	sessions, err := c.server.mail.Sessions(c.ctx, c.agent.ID, after, sessionsAtOnce)
	if err == nil && after == "" {
		invitations, err = c.server.mail.Invitations(c.ctx, c.agent.ID)
	}
	d := &c.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.scan = false // until the next ping
		if c.ctx.Err() == nil {
			c.server.opts.Log.Error("delivery failed", "agent", c.agent.ID, "error", err)
		}
		return
	}
	for _, s := range sessions {
		t, sent := d.tracks[s.Session], s.Cursor
		if t != nil && t.started {
			sent = t.sent
		}
		if s.Length > sent || t != nil && t.seen != "" && t.seen != brief(c.server.mail.stateOf(&s), s.Parties) {
			d.enqueue(s.Session, isUnsure)
		}
	}
	for _, i := range invitations {
		if t := d.tracks[i.Session]; t == nil || !t.invited {
			d.enqueue(i.Session, isUnsure)
		}
	}
	if d.after == after { // else it was told to start anew
		if d.scan = len(sessions) == sessionsAtOnce; d.scan {
			d.after = sessions[len(sessions)-1].Session
		}
	}
}

// track returns what is known of a session's delivery.
func (d *delivery) track(session wire.SessionID) *track {
	t := d.tracks[session]
	if t != nil {
		return t
	}
	if len(d.tracks) >= maxTracks {
		for session, t := range d.tracks {
			if len(t.sizes) == 0 && !t.pinned && session != d.current && d.postponedAt(session) < 0 {
				delete(d.tracks, session)
			}
		}
	}
	if d.tracks == nil {
		d.tracks = map[wire.SessionID]*track{}
	}
	t = new(track)
	d.tracks[session] = t
	return t
}

func (d *delivery) forget(session wire.SessionID) {
	if t := d.tracks[session]; t != nil {
		d.free(t, len(t.sizes))
		delete(d.tracks, session)
	}
	d.freed()
}

// free takes the first n entries of a track out of the window.
func (d *delivery) free(t *track, n int) {
	for _, size := range t.sizes[:n] {
		d.size -= int(size)
	}
	d.entries -= n
	if t.sizes = t.sizes[n:]; len(t.sizes) == 0 {
		t.sizes = nil
	}
}

// brief says in short what parties and state a session has, to see whether they have
// changed.
func brief(state string, parties []Party) string {
	b := []byte(state)
	for _, p := range parties {
		b = append(b, p.Standing[0])
	}
	return string(b)
}

// tell sends what is new in a session: that it is, and its entries, if they were asked
// for, when something had been acknowledged so many times.
func (c *socket) tell(session wire.SessionID, t *track, asked bool, frees int, n *news) {
	mail, d := c.server.mail, &c.delivery
	info := n.info
	now := brief(mail.stateOf(&info), info.Parties)
	if n.invited && !t.invited {
		t.invited = true
		c.push("invitation", invitationMembers(Invitation{session, info.Parties[0].Agent, info.Category, info.Created, info.Expires}))
	}
	// Who was not shown an invitation is told nothing, be it denied or not.
	if t.seen != now && (n.joined || t.invited && !n.invited) {
		c.push("session", mail.sessionMembers(info, c.agent.ID))
	}
	t.seen = now
	if !n.joined {
		return
	}
	d.mu.Lock()
	t.told = true
	if !t.started {
		t.started, t.sent = true, info.Cursor
	}
	d.mu.Unlock()
	stuck := asked && len(n.entries) == 0 && info.Length > info.Cursor
	for i := range n.entries {
		var sent bool
		if sent, stuck = c.pushEntry(session, t, &n.entries[i]); !sent {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case t.sent >= info.Length:
	case d.places[session]&isQueued == 0 && (stuck && d.frees == frees || d.isFull(0)):
		d.hold(session)
	default:
		d.enqueue(session, isUnsure)
	}
}

// BUG(relay): A large entry that the window has no room for waits on a connection for as
// long as the small ones of other sessions fill at once what an acknowledgement frees.

// isFull reports whether the window has no room for an entry. One goes always.
func (d *delivery) isFull(size int) bool {
	return d.entries >= windowEntries || d.entries > 0 && d.size+max(size, 1) > windowSize
}

// push sends a frame that needs no acknowledgement.
func (c *socket) push(kind string, m wire.M) {
	frame, err := appendMembers([]byte(`{"push":"`+kind+`",`), m)
	if err != nil {
		c.server.opts.Log.Error("delivery failed", "agent", c.agent.ID, "error", err)
		return
	}
	c.delivery.pushing.Lock()
	defer c.delivery.pushing.Unlock()
	c.write(append(frame, '}'))
}

// pushEntry sends the next entry of a log, if it is that still. It is stuck if the
// window has no room.
func (c *socket) pushEntry(session wire.SessionID, t *track, e *UnverifiedEntry) (sent, stuck bool) {
	d := &c.delivery
	buffer := frames.Get().(*bytes.Buffer)
	defer giveBack(buffer)
	frame := append(buffer.AvailableBuffer(), `{"push":"entry",`...)
	if e.Sender == c.agent.ID {
		frame = appendOwn(frame, session, e)
	} else {
		frame = appendEntry(frame, session, e)
	}
	frame = append(frame, '}')
	d.pushing.Lock()
	defer d.pushing.Unlock()
	d.mu.Lock()
	if moved, full := t.sent+1 != e.Number, d.isFull(len(frame)); moved || full {
		d.mu.Unlock()
		return false, full && !moved
	}
	t.sent++
	t.sizes = append(t.sizes, int32(len(frame)))
	d.entries++
	d.size += len(frame)
	d.mu.Unlock()
	if !c.write(frame) {
		return false, true
	}
	c.server.metrics.delivered.Inc()
	return true, false
}

// acked frees the window of what was acknowledged.
func (c *socket) acked(session wire.SessionID, number uint64) {
	d := &c.delivery
	d.mu.Lock()
	if t := d.tracks[session]; t != nil {
		first := t.sent - uint64(len(t.sizes)) // the last that is not under way
		if number > first {
			d.free(t, int(min(number-first, uint64(len(t.sizes)))))
		}
		if number >= t.sent {
			t.pinned = false
		}
		d.freed()
	}
	d.mu.Unlock()
	c.deliverSoon()
}

var errTooManyResumed = errors.New("too many sessions on one connection: acknowledge, or open another")

// resume goes on behind entry number of a session. Nothing is delivered until answered is
// called, so that what comes before the answer is of the old place and what comes after
// it of the new one.
func (c *socket) resume(session wire.SessionID, number uint64) (answered func(), err error) {
	d := &c.delivery
	d.pushing.Lock()
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.tracks[session] != nil
	t := d.track(session)
	if !known && len(d.tracks) > maxTracks {
		delete(d.tracks, session)
		d.pushing.Unlock()
		return nil, bad(errTooManyResumed)
	}
	d.free(t, len(t.sizes))
	t.sent, t.started, t.pinned = number, true, true
	d.freed()
	d.enqueue(session, isUnsure)
	return func() {
		d.pushing.Unlock()
		c.deliverSoon()
	}, nil
}
