package node_test

import (
	"testing"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

func TestDeal(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id := w.begin(node.Opening{}, seller, buyer)
	seller.move(id, wire.TypeOffer, price(900))
	buyer.has(id, 3)
	buyer.move(id, wire.TypeCounter, price(800))
	seller.has(id, 4)
	v := seller.move(id, "accept", wire.Value{})
	if v.State != session.Agreed {
		t.Fatalf("state %s", v.State)
	}
	seller.settled(id)
	buyer.settled(id)
	w.same(id, seller, buyer)
}
