package relay

import (
	"context"
	"fmt"
	"net/http"

	"github.com/concordia-node/concordia/wire"
)

// Info asks the relay what it is, without a token: its id, its time and its limits, by
// the names of RFC 0001. All of it is the relay's word.
func (c *Client) Info(ctx context.Context) (wire.Value, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timing.Call, errNoAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url.JoinPath(".well-known", "concordia-relay").String(), nil)
	if err != nil {
		return wire.Value{}, fmt.Errorf("asking a relay: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return wire.Value{}, fmt.Errorf("asking a relay: %w", err)
	}
	defer res.Body.Close()
	v, err := readResponse(ctx, "info", res, 64<<10)
	if err != nil {
		return v, err
	}
	r := wire.Read(v, "", RuleAnswer)
	r.OneOf("protocol", protocol)
	r.Text("relay")
	r.Time("time")
	r.Object("limits")
	return v, r.Err()
}

// RelayID returns the id of the relay, as far as it is known: what the options say, or
// what the relay has said when the agent registered. Whoever keeps a token keeps it
// beside it.
func (c *Client) RelayID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.relay
}
