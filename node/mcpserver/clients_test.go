package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol/menu"
)

// What is learned of clients is bounded, and the oldest is forgotten first.
func TestClients(t *testing.T) {
	c := new(Clients)
	name := func(i int) clientName { return clientName{fmt.Sprint("client ", i), "1"} }
	for i := range maxClients {
		c.learn(name(i), menu.Dynamic)
	}
	c.learn(name(0), menu.Static) // which makes it the newest
	c.learn(name(maxClients), menu.Dynamic)
	for i, want := range map[int]menu.Mode{0: menu.Static, 1: "", 2: menu.Dynamic, maxClients: menu.Dynamic, maxClients + 1: ""} {
		if got := c.known(name(i)); got != want {
			t.Errorf("client %d is known as %q, want %q", i, got, want)
		}
	}
	c.learn(name(2), "")
	if got := c.known(name(2)); got != "" {
		t.Errorf("what turned out wrong is still known as %q", got)
	}
	for what, n := range map[string]clientName{"no name": {}, "a long name": {strings.Repeat("n", maxShownName), "1"}} {
		if c.learn(n, menu.Dynamic); c.known(n) != "" {
			t.Errorf("a client with %s is known", what)
		}
	}
	var none *Clients
	none.learn(name(0), menu.Dynamic)
	if none.known(name(0)) != "" {
		t.Error("nothing knows a client")
	}
}

// A connection teaches what it has shown, and no more.
func TestLearn(t *testing.T) {
	name := clientName{"client", "1"}
	for _, test := range []struct {
		what                         string
		before                       menu.Mode
		listed, again, heard, unread bool
		want                         menu.Mode
	}{
		{"it left at once", "", false, false, true, false, ""},
		{"it read the list once, and could hear", "", true, false, true, false, menu.Static},
		{"it read the list once, and could not hear", "", true, false, false, false, ""},
		{"it read the list again", "", true, true, false, false, menu.Dynamic},
		{"it was known and read what changed", menu.Dynamic, true, true, true, false, menu.Dynamic},
		{"it was known and did not", menu.Dynamic, true, false, true, true, ""},
		{"it was known not to", menu.Static, true, false, true, false, menu.Static},
	} {
		c := new(Clients)
		c.learn(name, test.before)
		s := &Server{opts: Options{Clients: c}, client: menu.Client{Known: c.known(name)}, name: name, unread: test.unread}
		s.client.Initialized()
		if test.listed {
			s.client.Listed()
		}
		if test.again {
			s.client.Listed()
		}
		s.learn(test.heard)
		if got := c.known(name); got != test.want {
			t.Errorf("%s: known as %q, want %q", test.what, got, test.want)
		}
	}
}
