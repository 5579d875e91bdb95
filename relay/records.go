package relay

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// The records of a relay, by the first byte of their key. Ids contain no zero byte,
// which separates them. Keys that begin with a capital letter are those of services.
const (
	keyRelay      = "r" // the relay itself: JSON of relayRecord
	keyAgent      = "a" // agent: JSON of agentRecord
	keyToken      = "t" // hash of a token: the agent's id
	keyNonce      = "n" // when it can be forgotten, nonce: used
	keyConsent    = "c" // agent: decisions; agent, other: 'a' or 'd'
	keySession    = "s" // session: sessionRecord
	keyHead       = "h" // session: head
	keyMember     = "m" // agent, session that it has joined: member
	keyInvitation = "v" // agent, session: the initiator, who waits for an answer
	keyID         = "i" // session, id of an entry: its number
	keyMailbox    = "u" // agent: undelivered entries; agent, sender: of that sender
	keyInvited    = "w" // agent: unanswered invitations; agent, sender: of that sender
	keyLive       = "l" // live sessions; initiator: of that initiator
	keyBytes      = "b" // initiator: bytes of the sessions that are kept
	keyDue        = "d" // time, session: the sweeper has to look
	keyAgentCount = "k" // registered agents
)

func key(kind string, parts ...string) string { return kind + strings.Join(parts, "\x00") }

// below is the prefix of the keys that continue with another part.
func below(kind string, parts ...string) string { return key(kind, parts...) + "\x00" }

// moment is the big-endian form of a time in seconds, whose order is that of the
// times. It is rounded up: at that moment the time has come.
func moment(t time.Time) string {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return string(binary.BigEndian.AppendUint64(nil, uint64(max(0, s))))
}

// A relayRecord is what a relay knows of itself.
type relayRecord struct {
	ID     string `json:"id"`
	Secret []byte `json:"secret"` // authenticates challenges
}

// An agentRecord is a registered agent: its key never changes.
type agentRecord struct {
	Key    string        `json:"key"`
	Since  time.Time     `json:"since"`
	Tokens []tokenRecord `json:"tokens,omitempty"`
}

type tokenRecord struct {
	Hash  []byte    `json:"hash"`
	Since time.Time `json:"since"`
}

// A Standing is what a party of a relay session has done about it.
type Standing string

// The standings.
const (
	Invited  Standing = "invited"
	Joined   Standing = "joined"
	Declined Standing = "declined"
)

// A Party of a relay session.
type Party struct {
	Agent    wire.AgentID `json:"agent_id"`
	Standing Standing     `json:"standing"`
}

// A sessionRecord is what changes seldom of a session. Its first party is the
// initiator; those who were named follow, then those who took a place. A party keeps
// its index.
type sessionRecord struct {
	Session  wire.SessionID
	Parties  []Party
	Named    int // parties that were named, and the initiator
	Places   int // for whoever comes first, when the session was made
	Category string
	Created  time.Time
	Expires  time.Time
	Due      time.Time // when the sweeper looks
	Ended    time.Time // zero: it has not been ended
	Why      End
}

// An End is why a relay session ended.
type End string

// The ends.
const (
	EndClosed   End = "closed"   // by a party
	EndDeclined End = "declined" // by everybody who was named
	EndExpired  End = "expired"  // its life was over
	EndIdle     End = "idle"     // nothing was said for too long
)

func (s *sessionRecord) initiator() wire.AgentID { return s.Parties[0].Agent }

// free returns how many places nobody has taken.
func (s *sessionRecord) free() int { return s.Places - (len(s.Parties) - s.Named) }

// party returns the index of an agent, or -1.
func (s *sessionRecord) party(agent wire.AgentID) int {
	for i, p := range s.Parties {
		if p.Agent == agent {
			return i
		}
	}
	return -1
}

func (s *sessionRecord) joined(agent wire.AgentID) bool {
	i := s.party(agent)
	return i >= 0 && s.Parties[i].Standing == Joined
}

func (s *sessionRecord) encode() []byte {
	var f fields
	f.text(string(s.Session))
	f.number(uint64(len(s.Parties)))
	for _, p := range s.Parties {
		f.text(string(p.Agent))
		f.text(string(p.Standing[:1]))
	}
	f.number(uint64(s.Named))
	f.number(uint64(s.Places))
	f.text(s.Category)
	for _, t := range []time.Time{s.Created, s.Expires, s.Due, s.Ended} {
		f.time(t)
	}
	f.text(string(s.Why))
	return f.b
}

var standings = map[string]Standing{"i": Invited, "j": Joined, "d": Declined}

func decodeSession(b []byte) (*sessionRecord, error) {
	d := decode(b)
	s := &sessionRecord{Session: wire.SessionID(d.text())}
	s.Parties = make([]Party, d.length(2))
	for i := range s.Parties {
		s.Parties[i] = Party{wire.AgentID(d.text()), standings[d.text()]}
		d.must(s.Parties[i].Standing != "")
	}
	s.Named, s.Places, s.Category = int(d.number()), int(d.number()), d.text()
	s.Created, s.Expires, s.Due, s.Ended = d.time(), d.time(), d.time(), d.time()
	s.Why = End(d.text())
	d.must(1 <= s.Named && s.Named <= len(s.Parties) && s.free() >= 0)
	return s, d.end()
}

// A head is what every entry changes of a session.
type head struct {
	entries uint64
	bytes   uint64
	last    time.Time // of the last entry
	tip     wire.Tip
	sent    tally // of the entries
}

// A tally says how many entries each party of a session has sent, by its index. What
// is missing at the end is 0.
type tally []uint64

func (t tally) of(party int) uint64 {
	if party < len(t) {
		return t[party]
	}
	return 0
}

func (t *tally) add(party int, n int64) {
	for len(*t) <= party {
		*t = append(*t, 0)
	}
	(*t)[party] += uint64(n)
}

func (h *head) encode() []byte {
	f := fields{make([]byte, 0, 96)}
	f.number(h.entries)
	f.number(h.bytes)
	f.time(h.last)
	f.number(uint64(h.tip.Len))
	f.time(h.tip.Clock)
	f.b = append(f.b, h.tip.Hash[:]...)
	f.tally(h.sent)
	return f.b
}

func decodeHead(b []byte) (h head, err error) {
	d := decode(b)
	h.entries, h.bytes, h.last = d.number(), d.number(), d.time()
	h.tip.Len, h.tip.Clock = int(d.number()), d.time()
	copy(h.tip.Hash[:], d.take(uint64(len(h.tip.Hash))))
	h.sent = d.tally()
	return h, d.end()
}

// A member is what an agent's mailbox knows of a session that it has joined.
type member struct {
	cursor uint64 // the last entry that was acknowledged
	since  uint64 // entries there were when it joined, which do not count as undelivered
	seen   tally  // of the entries up to cursor or since, whichever is greater
}

func (me *member) encode() []byte {
	var f fields
	f.number(me.cursor)
	f.number(me.since)
	f.tally(me.seen)
	return f.b
}

func decodeMember(b []byte) (me member, err error) {
	d := decode(b)
	me.cursor, me.since, me.seen = d.number(), d.number(), d.tally()
	return me, d.end()
}

// An entry in the log begins with its kind, the index of the party who sent it, when it
// was appended, and where in its text its id stands: from which byte on, and how many.
const entryHeader = 1 + 1 + 8 + 4 + 2

func encodeEntry(kind EntryKind, party int, at time.Time, text, id string) []byte {
	b := make([]byte, 0, entryHeader+len(text))
	b = append(b, byte(kind), byte(party))
	b = binary.BigEndian.AppendUint64(b, uint64(at.UnixNano()))
	b = binary.BigEndian.AppendUint32(b, uint32(strings.Index(text, id))) // any place where it stands will do
	b = binary.BigEndian.AppendUint16(b, uint16(len(id)))
	return append(b, text...)
}

// entryID returns the id in the text of an entry.
func entryID(e, text []byte) []byte {
	from, size := int(binary.BigEndian.Uint32(e[10:])), int(binary.BigEndian.Uint16(e[14:]))
	return text[from : from+size]
}

// sender returns the index of the party who sent an entry.
func (s *sessionRecord) sender(e []byte) (int, error) {
	if len(e) < entryHeader || int(e[1]) >= len(s.Parties) || int(binary.BigEndian.Uint32(e[10:]))+int(binary.BigEndian.Uint16(e[14:])) > len(e)-entryHeader {
		return 0, fmt.Errorf("reading an entry: %w", errDamaged)
	}
	return int(e[1]), nil
}

var errDamaged = errors.New("damaged record")

// Fields make a record of numbers and texts, one after the other.
type fields struct{ b []byte }

func (f *fields) number(n uint64) { f.b = binary.AppendUvarint(f.b, n) }

func (f *fields) text(s string) {
	f.number(uint64(len(s)))
	f.b = append(f.b, s...)
}

func (f *fields) time(t time.Time) {
	if t.IsZero() {
		f.number(0)
		return
	}
	f.number(uint64(t.UnixNano()))
}

func (f *fields) tally(t tally) {
	f.number(uint64(len(t)))
	for _, n := range t {
		f.number(n)
	}
}

// A decoder reads what fields made. After a fault it reads zeros.
type decoder struct {
	rest   string
	broken bool
}

func decode(b []byte) *decoder { return &decoder{rest: string(b)} }

func (d *decoder) must(ok bool) {
	if !ok {
		d.rest, d.broken = "", true
	}
}

func (d *decoder) number() uint64 {
	n := uint64(0)
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		c := d.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.must(false)
	return 0
}

func (d *decoder) take(n uint64) string {
	d.must(n <= uint64(len(d.rest)))
	if d.broken {
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) text() string { return d.take(d.number()) }

func (d *decoder) time() time.Time {
	n := d.number()
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n)).UTC()
}

// length reads how many items of at least size bytes follow.
func (d *decoder) length(size int) int {
	n := d.number()
	d.must(n <= uint64(len(d.rest)/size))
	if d.broken {
		return 0
	}
	return int(n)
}

func (d *decoder) tally() tally {
	n := d.length(1)
	if n == 0 {
		return nil
	}
	t := make(tally, n)
	for i := range t {
		t[i] = d.number()
	}
	return t
}

// end reports whether the record was one.
func (d *decoder) end() error {
	if d.must(d.rest == ""); d.broken {
		return fmt.Errorf("reading a record: %w", errDamaged)
	}
	return nil
}

// number reads a record that is one number.
func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// count reads a counter.
func count(r Reader, key string) uint64 { return number(r.Get(key)) }

// add changes a counter, and removes it at zero.
func add(tx Tx, key string, by int64) {
	n := uint64(max(0, int64(count(tx, key))+by))
	if n == 0 {
		tx.Delete(key)
		return
	}
	tx.Put(key, binary.BigEndian.AppendUint64(nil, n))
}

// raise adds to a counter, if that does not exceed a limit. Whoever refuses then fails
// the transaction, and with it goes what else was counted.
func raise(tx Tx, key string, by uint64, limit int64) bool {
	n := count(tx, key) + by
	if n > uint64(limit) {
		return false
	}
	tx.Put(key, binary.BigEndian.AppendUint64(nil, n))
	return true
}

// getJSON reads a record, and reports whether there is one.
func getJSON(r Reader, key string, into any) (bool, error) {
	b := r.Get(key)
	if b == nil {
		return false, nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return true, fmt.Errorf("reading a record: %w", errDamaged)
	}
	return true, nil
}

func putJSON(tx Tx, key string, record any) error {
	b, err := json.Marshal(record)
	if err == nil {
		tx.Put(key, b)
	}
	return err
}
