package session

import (
	"errors"
	"time"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// Returns says under which conditions whoever left would come back: an offer
// inside the limits, or a time. It binds nobody. (SPEC §5.1)
type Returns struct {
	Limits offer.Constraints // on the terms of an offer
	After  time.Time         // zero: no matter when
}

var errNoReturn = errors.New("it says what would bring the sender back, and not that anything would")

// leave reads the body of a message that ends a session or says more about its
// end: reason, reactivatable, returns_if.
func (s *Session) leave(r wire.Reader) ([]protocol.Guard, error) {
	r.OptText("reason")
	returns := r.OptBool("reactivatable")
	if c, ok := r.OptObject("returns_if"); ok {
		c.Open("constraints", "after")
		if !returns {
			r.Fail("returns_if", errNoReturn)
		}
		if c.Has("after") {
			c.Time("after")
		}
		if c.Has("constraints") && r.Err() == nil {
			if _, err := (offer.Constraints{}).Declare(c.Whole(), c.Pointer()); err != nil {
				return nil, err
			}
		}
	}
	if returns && len(s.parties) > 1 {
		return []protocol.Guard{reactivatable}, r.Err()
	}
	return nil, r.Err()
}

// read notes what the body, which leave has checked, says about the end.
func (e *Ending) read(body wire.Value) {
	if reason, ok := body.Get("reason"); ok {
		e.Reason = reason.Text()
	}
	c, ok := body.Get("returns_if")
	if !ok {
		return
	}
	e.Returns = &Returns{}
	if _, ok := c.Get("constraints"); ok {
		e.Returns.Limits, _ = e.Returns.Limits.Declare(c, "")
	}
	if after, ok := c.Get("after"); ok {
		e.Returns.After, _ = wire.ParseTime(after.Text())
	}
}
