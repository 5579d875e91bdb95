package relay

import (
	"fmt"

	"github.com/concordia-node/concordia/wire"
)

// A MisconductKind says what a relay did wrong.
type MisconductKind string

// What a relay can do wrong in a session, and a client can find. A delay it cannot.
const (
	// Altered: an entry that is no entry, that its sender did not sign as it is, or an own
	// one that is not what was sent.
	Altered MisconductKind = "altered"
	// Missing: an entry was left out; later ones were shown.
	Missing MisconductKind = "missing"
	// Reordered: entries come in another order than their numbers or their chain have.
	Reordered MisconductKind = "reordered"
	// Forked: two entries with one number, or two messages that continue the same one.
	Forked MisconductKind = "forked"
	// Replayed: an entry of another session, or one of this session once more.
	Replayed MisconductKind = "replayed"
	// Withheld: an own entry whose place was acknowledged is not there.
	Withheld MisconductKind = "withheld"
	// CursorLie: a cursor or a length that is less than it was, or cannot be.
	CursorLie MisconductKind = "cursor"
	// Foreign: an entry of an agent that is no party, or that the relay shows under another
	// name than the one that signed it.
	Foreign MisconductKind = "foreign"
	// Garbled: what is no frame of RFC 0001. It is of the connection, which is closed, and
	// of no session.
	Garbled MisconductKind = "garbled"
)

// A Misconduct is what a relay did wrong, with what there is to show for it. The
// messages in it are signed by their senders, and not by the relay: that the relay
// has shown them is the client's word.
type Misconduct struct {
	Kind    MisconductKind
	Session wire.SessionID
	Number  uint64     // of the entry, 0 if it is none
	Shown   wire.Value // what the relay sent: an entry, or the answer
	Have    wire.Value // what it contradicts, if the client still has it
	After   Position   // where the application was
	Err     error      // says what does not fit: a *wire.Violation if a rule is broken
}

func (m *Misconduct) Error() string {
	switch {
	case m.Session == "":
		return fmt.Sprintf("the relay misbehaves: %s: %v", m.Kind, m.Err)
	case m.Number == 0:
		return fmt.Sprintf("the relay misbehaves in session %q: %s: %v", m.Session, m.Kind, m.Err)
	}
	return fmt.Sprintf("the relay misbehaves in session %q at entry %d: %s: %v", m.Session, m.Number, m.Kind, m.Err)
}

// Unwrap returns what does not fit.
func (m *Misconduct) Unwrap() error { return m.Err }
