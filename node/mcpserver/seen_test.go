package mcpserver_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
)

// An overtaken node hears of something between the moment when a call looks at a session
// and the moment when it makes its move.
type overtaken struct {
	node.API
	before func()
}

func (o *overtaken) Move(ctx context.Context, m node.Move) (node.View, error) {
	o.before()
	return o.API.Move(ctx, m)
}

// An acceptance that names no offer takes none that comes while it is under way.
func TestAcceptOvertaken(t *testing.T) {
	w := newWorld(t)
	seller := w.agent("seller", mcpserver.Options{}, nil)
	n := w.agent("buyer", mcpserver.Options{}, nil).node
	session, once := "", sync.Once{}
	buyer := w.connectAs(&overtaken{n, func() {
		if session == "" {
			return
		}
		once.Do(func() {
			seller.call("concordia_propose", session+cheap)
			list, err := n.Sessions(w.ctx, node.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			v, err := n.Session(w.ctx, list[0].Session)
			for err == nil && v.Offer == nil {
				v, err = n.Wait(w.ctx, v.Session, v.Version)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}}, mcpserver.Options{}, before)
	buyer.node = n
	id := w.begin(seller, buyer, "")
	session = `{"session_id":"` + id + `"`
	if v := buyer.refused("concordia_accept", session+`}`); at(v, "code") != "conflict" || at(v, "state") != "active" {
		t.Errorf("accepting what nobody has offered yet: %s", v)
	}
}

// An offer that is too large to be shown whole was not shown: whoever takes it says which
// one it is.
func TestAcceptCutOffer(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
	long := `,"terms":{"a":{"value":"` + strings.Repeat("x", 9000) + `"},"price":{"value":2400,"currency":"USD"},"delivery":{"value":"pickup"}}}`
	id := at(seller.call("concordia_propose", session+long), "offer_id")
	v := buyer.call("concordia_wait", session+`}`)
	if at(v, "external", "truncated") != "true" || !strings.Contains(at(v, "next"), "transcript") {
		t.Errorf("an offer that is cut: %.300s", v)
	}
	for range 2 {
		if v := buyer.refused("concordia_accept", session+`}`); at(v, "pointer") != "/offer_id" {
			t.Errorf("accepting what was shown in part: %.300s", v)
		}
	}
	buyer.call("concordia_accept", session+`,"offer_id":"`+id+`"}`)
}
