package node_test

import (
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Messages that are large come in several parts, each of which a caller in another
// process can read.
func TestLargeMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("27 MB are signed and written")
	}
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id := wire.SessionID("ses_large")
	must[node.View](w)(seller.Open(w.ctx, node.Opening{Session: id, To: []wire.AgentID{agent("buyer")}, Body: camera(nil)}))
	buyer.invitation(id)
	must[node.View](w)(buyer.Join(w.ctx, id))
	buyer.move(id, wire.TypeAcceptSession, wire.Value{})
	seller.in(id, session.Active)
	large := encoded(wire.M{"term_ids": []any{"price"}, "why": strings.Repeat("x", 250_000)})
	const many = 110
	for range many {
		seller.move(id, wire.TypeInquire, large)
	}
	for from, parts := 0, 0; ; parts++ {
		list := must[[]wire.Value](w)(seller.Messages(w.ctx, id, from, node.MaxMost))
		if from += len(list); len(list) > 0 {
			continue
		}
		if from != many+2 || parts != 2 {
			t.Errorf("%d messages in %d parts", from, parts)
		}
		break
	}
}
