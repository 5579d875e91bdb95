package relay

import (
	"context"
	"sync"

	"github.com/concordia-node/concordia/wire"
)

// A Position is how far an application has come in the log of a session. The zero
// Position is before the first entry.
type Position struct {
	Number uint64   // of the last entry that it has handled
	Tip    wire.Tip // of the messages up to there
}

// Cursors keep an application's positions. They, and not the relay's cursor, decide
// what is handed over: an application that writes the Position of a [Delivery] in the
// transaction in which it handles it, and then returns it here, sees each entry once
// even if the process is killed.
type Cursors interface {
	// Position returns the position in a session's log, the zero Position if none was
	// kept.
	Position(context.Context, wire.SessionID) (Position, error)

	// SetPosition keeps the position after an entry that was handled. It does nothing if
	// Handle has done so.
	SetPosition(context.Context, wire.SessionID, Position) error
}

// MemoryCursors are Cursors for as long as the process lives. The zero value is ready.
type MemoryCursors struct {
	mu sync.Mutex
	at map[wire.SessionID]Position
}

// Position implements [Cursors].
func (m *MemoryCursors) Position(_ context.Context, session wire.SessionID) (Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[session], nil
}

// SetPosition implements [Cursors].
func (m *MemoryCursors) SetPosition(_ context.Context, session wire.SessionID, at Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		m.at = map[wire.SessionID]Position{}
	}
	m.at[session] = at
	return nil
}

// forgetful are the Cursors of a client that is given none: it keeps the positions of
// its own life itself.
type forgetful struct{}

func (forgetful) Position(context.Context, wire.SessionID) (Position, error)  { return Position{}, nil }
func (forgetful) SetPosition(context.Context, wire.SessionID, Position) error { return nil }
