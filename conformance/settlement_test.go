package conformance_test

import (
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/conformance/vectors"
	"github.com/concordia-node/concordia/wire"
)

// A publisher may have an id of any kind. The one key of the context is the
// counterparty's and makes nobody else the counterparty.
func TestCosignPublisher(t *testing.T) {
	s, err := conformance.OpenSuite(vectors.FS(), vectors.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Find("contract-cosign-sound")
	if err != nil {
		t.Fatal(err)
	}
	q := v.Question
	counterparty, _ := q.Context.Get("counterparty_did")
	for publisher, want := range map[string]bool{"seller": true, "did:web:seller.example": true, counterparty.Text(): false} {
		q.Context = q.Context.With("publisher_did", wire.Text(publisher))
		if err := q.Answer().Err(); (err == nil) != want {
			t.Errorf("published by %s: %v", publisher, err)
		}
	}
}
