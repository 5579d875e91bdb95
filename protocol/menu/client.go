package menu

// A Client is what is known of a client that connected, to choose a mode for it. It is
// a small state machine without a clock: the caller tells what happened, and does what
// the answer says. The zero Client is one of the older revisions of MCP, of which
// nothing is known.
//
// A client of a revision up to 2025-11-25 gets the static list first. Once it has
// initialized and has read the list, it is told once that the list has changed. If it
// reads it again, it can follow, and is served what is legal in each state from then on.
// If it never does, the static list serves it well.
//
// A client of a later revision gets the static list, for a list must not change by what
// was called. An operator whose conversations are bound to credentials may serve the
// dynamic one, since a list may depend on who asks.
type Client struct {
	Stateless     bool // a revision after 2025-11-25
	PerCredential bool // the conversation belongs to a credential, and the operator chose so
	Known         Mode // what an earlier connection of this name and version learned: Dynamic, Static or empty

	initialized, listed, probed, follows bool
}

// Mode returns how the menu is shown to the client now: Dynamic or Static.
func (c *Client) Mode() Mode {
	switch {
	case c.Stateless && c.PerCredential, !c.Stateless && (c.follows || c.Known == Dynamic):
		return Dynamic
	}
	return Static
}

// Initialized notes that the client has initialized. It reports whether to tell the
// client now that the list of tools has changed.
func (c *Client) Initialized() (probe bool) {
	c.initialized = true
	return c.probe()
}

// Listed notes that the client asks for the list of tools, its first page. The answer is
// the list of the mode that Mode returns afterwards. It reports whether to tell the
// client, after the answer, that the list has changed.
func (c *Client) Listed() (probe bool) {
	if c.probed {
		c.follows = true
	}
	c.listed = true
	return c.probe()
}

func (c *Client) probe() bool {
	if c.Stateless || c.probed || c.Known != "" || !c.initialized || !c.listed {
		return false
	}
	c.probed = true
	return true
}

// Changed reports whether to tell the client that the list has changed, when the tools
// that are legal have.
func (c *Client) Changed() bool { return c.Mode() == Dynamic }

// Learned returns what to remember of the client's name and version when it leaves, or
// "" if nothing was found out.
func (c *Client) Learned() Mode {
	switch {
	case !c.probed:
		return ""
	case c.follows:
		return Dynamic
	}
	return Static
}
