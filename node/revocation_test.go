package node_test

import (
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// Records of strangers that revoke nothing cost each verification nothing: each of them is
// verified once.
func TestRevocationsAreVerifiedOnce(t *testing.T) {
	w := newWorld(t)
	asked, do := 0, func() {}
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	other := w.party("other", func(o *node.Options) { o.Keys = hookedKeys{wire.DIDKeys{}, agent("stranger"), &asked, &do} })
	_, first := w.sold(seller, buyer, wire.Value{})
	_, second := w.sold(seller, buyer, wire.Value{})
	for range 5 {
		w.must(other.Approve(w.ctx, w.revokes("stranger", first)))
	}
	other.restart()
	must[node.Ingested](w)(other.Ingest(w.ctx, first))
	if asked == 0 {
		t.Error("the records were not verified")
	}
	before := asked
	must[node.Ingested](w)(other.Ingest(w.ctx, second))
	w.must(other.Approve(w.ctx, w.revokes("stranger", second)))
	w.score(other, "seller")
	if n := before - asked; n > 4 { // of the new one alone
		t.Errorf("the key of the stranger is asked for %d times more", n)
	}
}

// Whose records count follows the contacts, without a restart.
func TestRevocationsFollowContacts(t *testing.T) {
	w := newWorld(t)
	const court = wire.AgentID("did:web:court")
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	other := w.party("other", func(o *node.Options) { o.Policy.Revokers = []wire.AgentID{court} })
	_, receipt := w.sold(seller, buyer, wire.Value{})
	by := w.issuer("court")
	by.Agent, by.Keys = court, wire.AnyKeys{wire.KeyMap{court: key("court").Public()}, wire.DIDKeys{}}
	record := must[wire.Value](w)(by.Revocation(encoded(wire.M{
		"revoked_artifact_id": attest.AttestationURN(idOf(receipt)), "revoked_artifact_type": "attestation", "reason": "it was a mistake",
	})))
	known := node.Contact{Agent: court, Keys: []node.ContactKey{{Key: key("court").Public().String()}}}
	takes := func() node.IngestStatus { return must[node.Ingested](w)(other.Ingest(w.ctx, receipt)).Status }
	w.must(other.SetContact(w.ctx, known))
	if takes() != node.IngestNew {
		t.Error("before the revocation it is not taken in")
	}
	w.must(other.Approve(w.ctx, record))
	if takes() != node.IngestRefused {
		t.Error("after the revocation it is taken in")
	}
	w.must(other.RemoveContact(w.ctx, court))
	if takes() != node.IngestKnown {
		t.Error("of a revoker whose key is not known any more the record counts")
	}
	w.must(other.SetContact(w.ctx, known))
	other.restart()
	if takes() != node.IngestRefused {
		t.Error("after a restart it is taken in")
	}
}
