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
// which separates them.
const (
	keyRelay      = "r" // the relay itself: JSON of relayRecord
	keyAgent      = "a" // agent: JSON of agentRecord
	keyToken      = "t" // hash of a token: the agent's id
	keyNonce      = "n" // time it is worthless from, nonce: used
	keyConsent    = "c" // agent, other: 'a' or 'd'
	keySession    = "s" // session: JSON of sessionRecord
	keyHead       = "h" // session: head
	keyMember     = "m" // agent, session: member
	keyID         = "i" // session, id: number and hash of the entry
	keyMailbox    = "u" // agent: undelivered entries; agent, sender: of that sender
	keyInvited    = "v" // agent: unanswered invitations; agent, sender: of that sender
	keyLive       = "l" // live sessions; initiator: of that initiator
	keyBytes      = "b" // initiator: bytes of the sessions that are kept
	keyDue        = "d" // time, session: the sweeper has to look
	keyAgentCount = "k" // registered agents
)

func key(kind string, parts ...string) string { return kind + strings.Join(parts, "\x00") }

// below is the prefix of the keys that continue with another part.
func below(kind string, parts ...string) string { return key(kind, parts...) + "\x00" }

// moment is the big-endian form of a time in seconds, whose order is that of the times.
func moment(t time.Time) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(max(0, t.Unix()))))
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
// initiator.
type sessionRecord struct {
	Session  wire.SessionID `json:"session"`
	Parties  []Party        `json:"parties"`
	Places   int            `json:"places,omitempty"` // for whoever comes first
	Category string         `json:"category,omitempty"`
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires"`
	Ended    time.Time      `json:"ended,omitzero"`
	Why      End            `json:"why,omitempty"`
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

// A head is what every entry changes of a session.
type head struct {
	entries uint64
	bytes   uint64
	last    time.Time // of the last entry
	tip     wire.Tip
}

func (h *head) encode() []byte {
	b := make([]byte, 0, 8*5+len(h.tip.Hash))
	b = binary.BigEndian.AppendUint64(b, h.entries)
	b = binary.BigEndian.AppendUint64(b, h.bytes)
	b = binary.BigEndian.AppendUint64(b, uint64(h.last.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(h.tip.Len))
	b = binary.BigEndian.AppendUint64(b, uint64(h.tip.Clock.UnixNano()))
	return append(b, h.tip.Hash[:]...)
}

var errDamaged = errors.New("damaged record")

func decodeHead(b []byte) (h head, err error) {
	if len(b) != 8*5+len(h.tip.Hash) {
		return h, errDamaged
	}
	n := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	h.entries, h.bytes, h.last = n(0), n(1), time.Unix(0, int64(n(2))).UTC()
	h.tip.Len, h.tip.Clock, h.tip.Hash = int(n(3)), time.Unix(0, int64(n(4))).UTC(), wire.Hash(b[8*5:])
	return h, nil
}

// A member is what an agent's mailbox knows of a session: the cursor, and whether the
// agent has joined.
type member struct {
	cursor uint64 // the last entry that was acknowledged
	joined bool
}

func (m member) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, m.cursor)
	if m.joined {
		return append(b, 'j')
	}
	return append(b, 'i')
}

func decodeMember(b []byte) (m member, err error) {
	if len(b) != 9 {
		return m, errDamaged
	}
	return member{binary.BigEndian.Uint64(b), b[8] == 'j'}, nil
}

// An entry in the log begins with its kind, the index of the party who sent it, and
// when it was appended.
const entryHeader = 1 + 1 + 8

func encodeEntry(kind EntryKind, party int, at time.Time, text string) []byte {
	b := make([]byte, 0, entryHeader+len(text))
	b = append(b, byte(kind), byte(party))
	b = binary.BigEndian.AppendUint64(b, uint64(at.UnixNano()))
	return append(b, text...)
}

// count reads a counter.
func count(r Reader, key string) uint64 {
	if b := r.Get(key); len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// add changes a counter, and removes it at zero.
func add(tx Tx, key string, by int64) {
	n := uint64(max(0, int64(count(tx, key))+by))
	if n == 0 {
		tx.Delete(key)
		return
	}
	tx.Put(key, binary.BigEndian.AppendUint64(nil, n))
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
