package mcpserver

import (
	"slices"
	"sync"

	"github.com/concordia-node/concordia/protocol/menu"
)

// maxClients bounds how many names of clients are remembered.
const maxClients = 256

// A clientName is what a client calls itself, of which nothing is verified.
type clientName struct{ name, version string }

// size is how much of memory a name takes.
func (n clientName) size() int { return len(n.name) + len(n.version) }

// Clients remembers which clients, by name and version, read the list of tools again when
// they are told that it has changed, for later connections with menu auto. It keeps a
// bounded number of names; the zero Clients is empty.
type Clients struct {
	mu    sync.Mutex // guards what follows
	names []clientName
	modes []menu.Mode
}

// known returns what is known of a client, or "". A nil c knows nothing.
func (c *Clients) known(name clientName) menu.Mode {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.names, name); i >= 0 {
		return c.modes[i]
	}
	return ""
}

// learn notes what a client does, or with "" that it does not do what was thought.
func (c *Clients) learn(name clientName, mode menu.Mode) {
	if c == nil || name == (clientName{}) || name.size() > maxShownName {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.names, name); i >= 0 {
		c.names, c.modes = slices.Delete(c.names, i, i+1), slices.Delete(c.modes, i, i+1)
	}
	if mode == "" {
		return
	}
	if len(c.names) == maxClients {
		c.names, c.modes = slices.Delete(c.names, 0, 1), slices.Delete(c.modes, 0, 1)
	}
	c.names, c.modes = append(c.names, name), append(c.modes, mode)
}

// learn notes, at the end of a connection, what it showed of the client. That a client
// does not follow is only known of one that could hear that the list has changed.
func (s *Server) learn(heard bool) {
	s.mu.Lock()
	name, mode, unread := s.name, s.client.Learned(), s.unread && s.client.Known == menu.Dynamic
	s.mu.Unlock()
	switch {
	case unread:
		s.opts.Clients.learn(name, "")
	case mode == menu.Dynamic, mode == menu.Static && heard:
		s.opts.Clients.learn(name, mode)
	}
}
