package node

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

// A ledger is the evidence in artifacts.db, in memory. It is read when somebody asks for
// it the first time, which verifies all of it, and then kept up to date. When contacts
// change, other keys count, and it is read again.
type ledger struct {
	most    int                  // MaxEvidence
	mu      sync.RWMutex         // guards what follows
	known   *reputation.Ledger   // nil: it is to be read
	kept    map[wire.Hash]bool   // what it was read from
	reading chan struct{}        // closed when a reading has ended; nil: nobody reads
	fault   error                // of the last reading
	keys    int                  // how often other keys counted
	came    []reputationEvidence // while somebody reads
	gone    map[wire.Hash]bool   // the same
}

// A reputationEvidence is evidence with the artifact that it is of.
type reputationEvidence struct {
	hash wire.Hash
	is   *reputation.Evidence
}

func (l *ledger) add(e reputationEvidence) {
	l.known.Add(e.is)
	l.kept[e.hash] = true
}

// heard takes evidence in that is on disk and was verified with the keys of a time. If
// those do not count any more, it is read again.
func (l *ledger) heard(e reputationEvidence, keys int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.keys != keys:
	case l.reading != nil:
		l.came = append(l.came, e)
	case l.known != nil:
		l.add(e)
	}
}

// counting says which keys count.
func (l *ledger) counting() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.keys
}

// isIdle reports whether nobody has asked for the ledger: whoever does reads what is on
// disk by then.
func (l *ledger) isIdle() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.known == nil && l.reading == nil
}

// forget has the ledger be read again, with other keys.
func (l *ledger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.kept = nil, nil
	l.keys++
}

// lost has the ledger be read again if it has that evidence, for it cannot be taken out. Of
// what is being read it is left out.
func (l *ledger) lost(hash wire.Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reading != nil:
		l.gone[hash] = true
	case l.kept[hash]:
		l.known, l.kept = nil, nil
		l.keys++
	}
}

// withLedger calls f with the ledger, which nobody changes meanwhile.
func (n *Node) withLedger(ctx context.Context, f func(*ledger) error) error {
	l := &n.ledger
	for {
		l.mu.RLock()
		if l.known != nil {
			defer l.mu.RUnlock()
			return f(l)
		}
		l.mu.RUnlock()
		if err := n.awaitLedger(ctx); err != nil {
			return err
		}
	}
}

// awaitLedger has the ledger be read. Whoever gives up waiting does not end that.
func (n *Node) awaitLedger(ctx context.Context) error {
	l := &n.ledger
	l.mu.Lock()
	if l.known != nil {
		l.mu.Unlock()
		return nil
	}
	if l.reading == nil {
		done := make(chan struct{})
		l.reading, l.came, l.gone, l.fault = done, nil, map[wire.Hash]bool{}, nil
		if !n.begin(func(ctx context.Context) { n.readLedger(ctx); close(done) }) {
			l.reading = nil
			l.mu.Unlock()
			return errStopping
		}
	}
	reading := l.reading
	l.mu.Unlock()
	select {
	case <-reading:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.fault
}

// readLedger reads the ledger from disk.
func (n *Node) readLedger(ctx context.Context) {
	keys := n.ledger.counting()
	list, err := n.readEvidence(ctx)
	n.ledger.read(list, keys, err)
}

// read enters what was read from disk with the keys of a time, and what came meanwhile.
func (l *ledger) read(list []reputationEvidence, keys int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault = err; err == nil && l.keys == keys {
		l.known, l.kept = new(reputation.Ledger), map[wire.Hash]bool{}
		for _, e := range append(list, l.came...) {
			if !l.gone[e.hash] {
				l.add(e)
			}
		}
	}
	l.reading, l.came, l.gone = nil, nil, nil
}

// readEvidence verifies all evidence on disk anew, which takes about a millisecond of a
// processor for each receipt. What does not stand with the keys of today stays on disk
// and counts for nothing.
func (n *Node) readEvidence(ctx context.Context) (all []reputationEvidence, err error) {
	f, err := n.verifier(n.now())
	if err != nil {
		return nil, err
	}
	var verifying sync.WaitGroup
	var mu sync.Mutex // guards all
	entries := make(chan store.Entry)
	for range runtime.GOMAXPROCS(0) {
		verifying.Go(func() {
			for e := range entries {
				if is, _ := verifyEvidence(f, e.Kind, e.Value); is != nil {
					mu.Lock()
					all = append(all, reputationEvidence{e.Hash, is})
					mu.Unlock()
				}
			}
		})
	}
	err = n.listEvidence(ctx, entries)
	close(entries)
	verifying.Wait()
	return all, err
}

// listEvidence hands on what is on disk.
func (n *Node) listEvidence(ctx context.Context, to chan<- store.Entry) error {
	for _, kind := range []string{receiptKind, fulfillmentKind} {
		for e, err := range n.artifacts.List(store.Filter{Kind: kind}) {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, store.ErrDamaged):
				n.log.Warn("evidence is damaged", "hash", e.Hash)
			case err != nil:
				return err
			case !e.Unverified:
				to <- e
			}
		}
	}
	return nil
}

// The kinds of evidence, and of what takes it back, by the names of SPEC §12.3.
const (
	receiptKind     = "attestation"
	fulfillmentKind = "fulfillment"
	revocationKind  = "revocation"
)

func verifyEvidence(f attest.Verifier, kind string, v wire.Value) (*reputation.Evidence, wire.Report) {
	if kind == receiptKind {
		return reputation.VerifyReceipt(f, v)
	}
	return reputation.VerifyFulfillment(f, v)
}

// noteEvidence enters evidence that was just kept. It is verified when it is on disk, so
// that of a revocation that comes at the same time one of the two knows of the other.
func (n *Node) noteEvidence(kind string, v wire.Value) {
	if n.ledger.isIdle() {
		return
	}
	keys := n.ledger.counting()
	f, err := n.verifier(n.now())
	if err != nil {
		n.log.Error("a receipt is not entered into the evidence until it is read again", "why", kindOf(err))
		return
	}
	if is, _ := verifyEvidence(f, kind, v); is != nil {
		n.ledger.heard(reputationEvidence{v.Hash(), is}, keys)
	}
}

// BUG(node): A record that is kept before it takes effect marks receipts as revoked when
// the evidence is read again, which is at the next start at the latest. Whoever takes in a
// receipt, or shows one, looks at the records as of then.

// noteRevocation enters what a record that was just kept revokes.
func (n *Node) noteRevocation(record wire.Value) error {
	if n.ledger.isIdle() {
		return nil
	}
	keys := n.ledger.counting()
	f, err := n.verifier(n.now())
	if err != nil {
		return err
	}
	var ids []string
	err = n.artifacts.Reached(f, []wire.Value{record}, n.opts.Policy.revokes, func(_ int, reached []attest.Reached, _ wire.Report) error {
		for _, r := range reached {
			ids = append(ids, r.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		for e, err := range n.artifacts.List(store.Filter{ID: id}) {
			switch {
			case errors.Is(err, store.ErrDamaged), err == nil && (e.Unverified || e.Kind != receiptKind && e.Kind != fulfillmentKind):
				continue
			case err != nil:
				return err
			}
			switch is, report := verifyEvidence(f, e.Kind, e.Value); {
			case is != nil:
				n.ledger.heard(reputationEvidence{e.Hash, is}, keys)
			case report.Err() != nil:
				n.ledger.lost(e.Hash)
			}
		}
	}
	return nil
}

var errEvidence = refuse(CodeBadRequest, "it is neither a receipt nor a fulfillment attestation")

var errEvidenceSize = refuse(CodeRefused, "it is larger than what a node keeps of others")

// Ingest implements [API].
func (n *Node) Ingest(ctx context.Context, artifact wire.Value) (Ingested, error) {
	var in Ingested
	var kind string
	text := func(name string) string {
		v, _ := artifact.Get(name)
		return v.Text()
	}
	switch {
	case has(artifact, "concordia_attestation"):
		kind, in.ID, in.Session = receiptKind, text("attestation_id"), text("session_id")
	case has(artifact, "attestation_type"):
		kind, in.ID = fulfillmentKind, text("id")
	default:
		return in, errEvidence
	}
	if len(artifact.Canonical()) > MaxEvidenceSize {
		return in, errEvidenceSize
	}
	f, err := n.verifier(n.now())
	if err != nil {
		return in, n.failed(err)
	}
	is, report := verifyEvidence(f, kind, artifact)
	in.Checks = ChecksOf(report)
	full := false
	err = n.withLedger(ctx, func(l *ledger) error {
		in.Kept = len(l.kept)
		full = in.Kept >= l.most && !l.kept[artifact.Hash()]
		return nil
	})
	switch {
	case err != nil:
		return in, n.failed(err)
	case is == nil || report.Err() != nil:
		in.Status = IngestRefused
		return in, nil
	case full:
		return in, refuse(CodeRefused, "there is as much evidence as a node keeps")
	}
	answers, err := n.artifacts.Add(ctx, n.now(), false, store.Candidate{Value: artifact, Kind: kind, Report: report})
	if err != nil {
		return in, n.failed(err)
	}
	switch answers[0].Status {
	case store.Known:
		in.Status = IngestKnown
	case store.New, store.Confirmed:
		in.Status = IngestNew
		in.Kept++
	default:
		return in, n.failed(answers[0].Err)
	}
	n.noteEvidence(kind, artifact)
	return in, nil
}

// ChecksOf says of a report what it may say without repeating the artifact.
func ChecksOf(report wire.Report) []CheckView {
	list := make([]CheckView, len(report))
	for i, f := range report {
		list[i] = CheckView{Check: f.Check, Outcome: f.Outcome.String(), Optional: f.Optional}
		if v, ok := errors.AsType[*wire.Violation](f.Err); ok && f.Outcome != wire.Passed {
			list[i].Rule = &RuleView{Section: v.Rule.Section, Name: v.Rule.Name, Class: v.Rule.Class, At: v.At}
			list[i].Text = v.Rule.Text
		}
	}
	return list
}

// query reads a question as what is asked of a service.
func (n *Node) query(q Question) (*reputation.Query, error) {
	if q.Requester == "" {
		q.Requester = n.agent
	}
	context := wire.M{}
	for name, text := range map[string]string{"category": q.Category, "value_range": q.Range, "role": string(q.Role)} {
		if text != "" {
			context[name] = text
		}
	}
	m := wire.M{"type": reputation.QueryType, "subject_agent_id": q.Subject, "requester_agent_id": q.Requester}
	if len(context) > 0 {
		m["context"] = context
	}
	v, err := wire.Encode(m)
	if err != nil {
		return nil, err
	}
	return reputation.ReadQuery(v)
}

// Score implements [API].
func (n *Node) Score(ctx context.Context, question Question) (Standing, error) {
	q, err := n.query(question)
	if err != nil {
		return Standing{}, n.failed(err)
	}
	now := n.now()
	key, err := n.Key(q.Subject, now)
	if err != nil && !errors.Is(err, wire.RuleUnknownKey) {
		return Standing{}, n.failed(err)
	}
	s := Standing{Subject: q.Subject, At: now}
	err = n.withLedger(ctx, func(l *ledger) error {
		of := l.known.Score(key, now)
		f := of.Figures
		s.Overall, s.Confidence, s.Flags, s.Circle = share(of.Overall), share(of.Confidence), slices.Clone(of.Flags), of.Circle
		s.Figures = StandingFigures{
			f.Negotiations, f.Agreements, f.AgreementRate, f.FulfillmentRate, f.AvgConcession, f.ReasoningRate,
			int(f.MedianRounds), f.Categories, f.Counterparties, f.Attestations,
		}
		var err error
		s.Context, err = wire.Encode(of.Context(q))
		return err
	})
	return s, n.failed(err)
}

func share(m reputation.Micro) float64 { return float64(m) / 1e6 }

// Answer implements [API].
func (n *Node) Answer(ctx context.Context, question Question) (wire.Value, error) {
	q, err := n.query(question)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	var v wire.Value
	err = n.withLedger(ctx, func(l *ledger) error {
		var err error
		v, err = l.known.Answer(q, n.issuer())
		return err
	})
	return v, n.failed(err)
}
