package node

import (
	"context"
	"errors"
	"sync"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

// A revocationBook has the revocation records of artifacts.db in memory, each verified once:
// anybody can hand in records of what is nobody's, and every verification looks at all. When
// contacts change, other keys count, and it is read again.
type revocationBook struct {
	mu    sync.Mutex          // guards what follows
	known *attest.Revocations // nil: it is to be read
	keys  int                 // which counted then (ledger.counting)
	open  []wire.Value        // kept since, or of nobody whose key is known
}

// keep takes a record in that is on disk.
func (b *revocationBook) keep(record wire.Value) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = append(b.open, record)
}

// revocations returns the records that stand.
func (n *Node) revocations() (*attest.Revocations, error) {
	b, f := &n.revoked, attest.Verifier{Keys: n, Now: n.now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if keys := n.ledger.counting(); b.known == nil || b.keys != keys {
		b.known, b.open, b.keys = nil, nil, keys
		var records []wire.Value
		for e, err := range n.artifacts.List(store.Filter{Kind: revocationKind}) {
			if err != nil {
				return nil, err
			}
			records = append(records, e.Value)
		}
		b.known, _ = f.ReadRevocations(nil, n.opts.Policy.revokes)
		b.open = records
	}
	if len(b.open) == 0 {
		return b.known, nil
	}
	known, reports := f.MoreRevocations(b.known, b.open)
	var open []wire.Value
	for i, r := range reports {
		if r.Outcome() != wire.Passed {
			open = append(open, b.open[i])
		}
	}
	b.known, b.open = known, open
	return known, nil
}

// Revoked implements [API].
func (n *Node) Revoked(_ context.Context, artifact wire.Value) (bool, error) {
	f, err := n.verifier(n.now())
	if err != nil {
		return false, n.failed(err)
	}
	if m, err := attest.ReadMandate(artifact); err == nil {
		return errors.Is(f.CheckRevoked(m.ID, m.Issuer), attest.RuleRevoked), nil
	}
	if a, err := attest.ReadApprovalReceipt(artifact); err == nil {
		return errors.Is(f.CheckRevoked(a.ID, a.Approver, a.Links...), attest.RuleRevoked), nil
	}
	return false, nil
}
