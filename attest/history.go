package attest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// MaxReceipts is how many receipts a bundle or a competence proof shows at most
// (SPEC §9.6.6a).
const MaxReceipts = 1000

// HistoryVersion is the one version of bundles and competence proofs.
const HistoryVersion = "0.1.0"

// The rules of what shows receipts of one agent.
var (
	RuleHistoryVersion = &wire.Rule{Section: "9.6.6a", Name: "history-version", Class: wire.ClassSchema, Text: "the version marker, which nobody signs, is the one that is known"}
	RuleHistorySize    = &wire.Rule{Section: "9.6.6a", Name: "history-size", Class: wire.ClassSchema, Text: "a bundle or a competence proof shows at most 1000 receipts"}
	RuleHolder         = &wire.Rule{Section: "9.6.6a", Name: "history-holder", Class: wire.ClassBinding, Text: "the agent that shows a receipt is a party of it"}
	RuleDuplicate      = &wire.Rule{Section: "9.6.6a", Name: "history-duplicate", Class: wire.ClassBinding, Text: "no receipt, session or inclusion proof is shown twice"}
	RuleSybil          = &wire.Rule{Section: "9.6.6a", Name: "sybil-pattern", Class: wire.ClassBinding, Text: "the receipts do not look like one agent dealing with itself"}
)

var historyRules = []*wire.Rule{
	RuleHistoryVersion, RuleHistorySize, RuleHolder, RuleDuplicate, RuleSummary, RuleSybil,
}

// A history is a list of receipts that one agent shows, each verified.
type history struct {
	verifier Verifier
	holder   wire.AgentID
	at       string // pointer of the list
	tooMany  bool   // so many that none was looked at
	receipts []receipt
	signs    *[]Pattern // once they were looked for
	honored  []bool     // see fulfilled, once it was asked for
	known    *roster    // see agents, once it was asked for
}

// A receipt is one of them and what became of the checks of receiptChecks.
type receipt struct {
	*Attestation // nil if it has not the shape of one
	shape        error
	found        wire.Report
}

// receiptChecks are what is checked of each receipt. Receipts are history: what they
// record happened, also after their validity ended, so only their anchors are
// compared with the present.
func receiptChecks() []wire.Check[*AttestationSubject] {
	return []wire.Check[*AttestationSubject]{
		{Name: "privacy", Run: (*AttestationSubject).checkPrivacy},
		{Name: "party-signatures", Run: (*AttestationSubject).checkPartySignatures},
		{Name: "outcome-binding", Run: (*AttestationSubject).checkOutcome},
		{Name: "set-binding", Run: (*AttestationSubject).checkSet},
		{Name: "anchors", Run: (*AttestationSubject).checkAnchors},
		{Name: "fulfillment", Run: (*AttestationSubject).checkFulfillment},
		{Name: "witnesses", Run: (*AttestationSubject).checkWitnesses},
	}
}

// checkAnchors checks that nothing the signers assert lies in the future.
func (s *AttestationSubject) checkAnchors() error {
	if v := s.Attestation.Validity; v != nil && s.CheckAnchor(v.From, "") != nil {
		return RuleNotYet.At("/validity_temporal")
	}
	return s.CheckAnchor(s.Attestation.Time, "/timestamp")
}

// VerifyHistory checks an attestation as history: like VerifyAttestation, but its
// validity may have ended and it may be of any age, as in a bundle (SPEC §9.6.6a).
func (f Verifier) VerifyHistory(v wire.Value, more ...wire.Check[*AttestationSubject]) (*Attestation, wire.Report) {
	checks := append(receiptChecks(), wire.Check[*AttestationSubject]{Name: "revocation", Run: (*AttestationSubject).checkRevocation})
	return Judge(v, ReadAttestation, func(a *Attestation) *AttestationSubject {
		return &AttestationSubject{Verifier: f, Attestation: a}
	}, append(checks, more...))
}

// errUnread is what is known of a receipt that Each left out.
var errUnread = errors.New("it was not read")

// readHistory verifies each receipt of a list.
func (f *Verifier) readHistory(list wire.Value, at string, holder wire.AgentID) *history {
	h := &history{verifier: *f, holder: holder, at: at, tooMany: list.Len() > MaxReceipts}
	if h.tooMany {
		return h
	}
	h.receipts = make([]receipt, list.Len())
	values := make([]wire.Value, list.Len())
	for i, v := range list.Elems() {
		values[i], h.receipts[i].shape = v, errUnread
	}
	checks := receiptChecks()
	f.each(len(values), func(i int) {
		r := &h.receipts[i]
		if r.Attestation, r.shape = ReadAttestation(values[i]); r.shape == nil {
			r.found = wire.Run(&AttestationSubject{Verifier: *f, Attestation: r.Attestation}, checks...)
		}
	})
	return h
}

// A historic subject shows receipts.
type historic interface{ history() *history }

// historyChecks are the checks of receipts that are shown, in order.
func historyChecks[S historic]() []wire.Check[S] {
	all := func(name string, optional bool) wire.Check[S] {
		return wire.Check[S]{Name: name, Optional: optional, Run: func(s S) error { return s.history().check(name) }}
	}
	return []wire.Check[S]{
		{Name: "size", Run: func(s S) error { return s.history().checkSize() }},
		{Name: "receipts", Run: func(s S) error { return s.history().checkShapes() }},
		{Name: "duplicates", Run: func(s S) error { return s.history().checkDuplicates() }},
		{Name: "holder", Run: func(s S) error { return s.history().checkHolder() }},
		all("privacy", false),
		all("party-signatures", false),
		all("outcome-binding", false),
		all("set-binding", false),
		all("anchors", false),
		all("fulfillment", true),
		all("witnesses", true),
		{Name: "sybil", Optional: true, Run: func(s S) error { return s.history().checkSybil() }},
	}
}

func (h *history) checkSize() error {
	if h.tooMany {
		return RuleHistorySize.At(h.at)
	}
	return nil
}

func (h *history) checkShapes() error {
	if err := h.none(); err != nil {
		return err
	}
	for i, r := range h.receipts {
		if r.shape != nil {
			return h.within(i, r.shape)
		}
	}
	return nil
}

// none says why there is nothing to check, if there is not.
func (h *history) none() error {
	switch {
	case h.tooMany:
		return &wire.Unchecked{Why: "there are too many receipts"}
	case len(h.receipts) == 0:
		return &wire.Unchecked{Why: "there are no receipts", Moot: true}
	}
	return nil
}

// complete returns the receipts if there is nothing to hide a fault among them.
func (h *history) complete() ([]*Attestation, error) {
	if h.tooMany {
		return nil, h.none()
	}
	list := make([]*Attestation, len(h.receipts))
	for i, r := range h.receipts {
		if r.shape != nil {
			return nil, &wire.Unchecked{Why: "a receipt cannot be read"}
		}
		list[i] = r.Attestation
	}
	return list, nil
}

// finding returns what became of a check of one receipt.
func (r *receipt) finding(name string) wire.Finding {
	for _, f := range r.found {
		if f.Check == name {
			return f
		}
	}
	return wire.Finding{Check: name, Outcome: wire.NotChecked, Err: &wire.Unchecked{Why: "a receipt cannot be read"}}
}

// bound reports whether every party signed the outcome.
func (r *receipt) bound() bool {
	return r.version.since(2) && r.finding("outcome-binding").Outcome == wire.Passed
}

// check sums one check of all receipts up: the first that failed, else the first
// that could not be made, else that there was nothing to check in any of them, or in
// some where that says less than a reader would think.
func (h *history) check(name string) error {
	if err := h.none(); err != nil {
		return err
	}
	var unchecked, moot error
	without := 0
	for i := range h.receipts {
		switch f := h.receipts[i].finding(name); {
		case f.Outcome == wire.Failed:
			return h.within(i, f.Err)
		case f.Outcome == wire.Passed:
		case f.Optional:
			moot = f.Err
			without++
		case unchecked == nil:
			unchecked = h.within(i, f.Err)
		}
	}
	nothing := map[string]string{"outcome-binding": "bind no outcome", "set-binding": "name no transcript"}[name]
	switch {
	case unchecked != nil:
		return unchecked
	case without > 0 && nothing != "":
		// What some receipts leave open must not look as if all had it.
		return &wire.Unchecked{Why: fmt.Sprintf("%d of %d receipts %s", without, len(h.receipts), nothing), Moot: true}
	case without == len(h.receipts):
		return moot
	}
	return nil
}

// fulfilled reports whether receipt i is credited as fulfilled: the counterparty
// confirmed it, and no receipt before it shows the same confirmation. A confirmation
// does not say which attestation it is about, so that the holder could show one
// wherever it dealt with who signed it. (SPEC §9.6.6a)
func (h *history) fulfilled(i int) bool {
	if h.honored == nil {
		h.honored = make([]bool, len(h.receipts))
		shown := make(map[string]bool)
		for i := range h.receipts {
			r := &h.receipts[i]
			if r.shape != nil || !r.Fulfillment.fulfilled() || r.finding("fulfillment").Outcome != wire.Passed ||
				h.verifier.same(r.Fulfillment.confirmedBy, h.holder, r.Time) {
				continue
			}
			// What was signed, not the signature: its maker can make many of one text.
			confirmation := r.Fulfillment.confirmation.Without("signature").Canonical()
			h.honored[i] = !shown[confirmation]
			shown[confirmation] = true
		}
	}
	return h.honored[i]
}

// within makes an error of receipt i one of the whole.
func (h *history) within(i int, err error) error {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Because(fmt.Sprintf("%s/%d%s", h.at, i, v.At), v.Err)
	}
	if _, ok := errors.AsType[*wire.Unchecked](err); ok {
		return err
	}
	return fmt.Errorf("receipt %d: %w", i, err)
}

func (h *history) checkDuplicates() error {
	if err := h.none(); err != nil {
		return err
	}
	ids, sessions := make(map[string]bool), make(map[wire.SessionID]bool)
	for i, r := range h.receipts {
		if r.shape != nil {
			continue
		}
		if ids[r.ID] {
			return h.within(i, RuleDuplicate.At("/attestation_id"))
		}
		if sessions[r.Session] {
			return h.within(i, RuleDuplicate.At("/session_id"))
		}
		ids[r.ID], sessions[r.Session] = true, true
	}
	return nil
}

func (h *history) checkHolder() error {
	if err := h.none(); err != nil {
		return err
	}
	for i, r := range h.receipts {
		if r.shape == nil && !r.lists(h.holder) {
			return h.within(i, RuleHolder.At("/parties"))
		}
	}
	return nil
}

// A Credit is what a verifier may credit to the agent that shows receipts: only
// what all parties of a receipt signed. Figures of a Summary that go beyond it are
// the agent's own word. (SPEC §9.6.6a)
type Credit struct {
	Bound          int            // receipts whose outcome every party countersigned
	Unbound        []string       // ids of the others: of old versions
	SetBound       int            // receipts that name the transcript they close
	Agreements     int            // bound, and agreed
	Fulfilled      int            // bound, fulfilled, and a counterparty signed that, in words of its own for each
	Counterparties []wire.AgentID // of bound receipts, sorted; of the names of one agent the first
	Patterns       []Pattern      // which look like one agent with many names
}

// credit adds up what is proven.
func (h *history) credit() Credit {
	c := Credit{Patterns: h.patterns()}
	var met []wire.AgentID
	for i := range h.receipts {
		r := &h.receipts[i]
		if r.shape != nil {
			continue
		}
		passed := func(name string) bool { return r.finding(name).Outcome == wire.Passed }
		if !r.bound() || !passed("party-signatures") || !r.lists(h.holder) {
			c.Unbound = append(c.Unbound, r.ID)
			continue
		}
		c.Bound++
		if r.version.since(3) && passed("set-binding") {
			c.SetBound++
		}
		if r.Outcome.Status == StatusAgreed {
			c.Agreements++
		}
		if h.fulfilled(i) {
			c.Fulfilled++
		}
		for _, p := range r.Parties {
			met = append(met, p.Agent)
		}
	}
	slices.Sort(met)
	agents := h.agents()
	counted := map[int]bool{agents.number(h.holder): true}
	for _, id := range met {
		if n := agents.number(id); !counted[n] {
			counted[n] = true
			c.Counterparties = append(c.Counterparties, id)
		}
	}
	return c
}

// agents tells the holder and everybody it dealt with apart. The key of who signed
// nothing is nobody's yet and is not asked for.
func (h *history) agents() *roster {
	if h.known == nil {
		h.known = new(roster)
		resolved := make(map[wire.AgentID]bool)
		h.known.add(h.holder, h.verifier.identify(h.holder, h.verifier.Now))
		for i := range h.receipts {
			r := &h.receipts[i]
			if r.shape != nil {
				continue
			}
			signed := r.finding("party-signatures").Outcome == wire.Passed
			for _, p := range r.Parties {
				var key wire.PublicKey
				if fixed := strings.HasPrefix(string(p.Agent), "did:key:"); signed && !(fixed && resolved[p.Agent]) {
					key, resolved[p.Agent] = h.verifier.identify(p.Agent, r.Time), true
				}
				h.known.add(p.Agent, key)
			}
		}
	}
	return h.known
}

// fulfilled reports whether a summary counts f as fulfilled.
func (f *Fulfillment) fulfilled() bool { return f != nil && f.Status == "fulfilled" }

// A Pattern is a sign that the agent deals with itself (SPEC §9.6.6a).
type Pattern string

// The patterns of SPEC §9.6.6a.
const (
	LowDiversity         Pattern = "low_counterparty_diversity" // more than three receipts, at most one counterparty
	FastSessions         Pattern = "timing_anomaly"             // most sessions took less than five seconds
	SymmetricConcessions Pattern = "symmetric_concessions"      // in most, the first two parties conceded equally much
	SelfDealing          Pattern = "self_dealing"               // a counterparty is the agent by another name: it has its key
)

// fastSession is what a session of two people or two minds takes at least.
const fastSession = 5 * time.Second

// patterns returns the patterns that the receipts show.
func (h *history) patterns() []Pattern {
	if h.signs == nil {
		found := h.findPatterns()
		h.signs = &found
	}
	return *h.signs
}

func (h *history) findPatterns() (found []Pattern) {
	var fast, symmetric, n int
	self := false
	agents := h.agents()
	own := agents.number(h.holder)
	met := make(map[int]bool)
	for _, r := range h.receipts {
		if r.shape != nil {
			continue
		}
		n++
		for _, p := range r.Parties {
			if m := agents.number(p.Agent); m != own {
				met[m] = true
			} else if p.Agent != h.holder {
				self = true
			}
		}
		if r.Outcome.Duration < fastSession {
			fast++
		}
		first, ok := r.magnitude(0)
		second, both := r.magnitude(1)
		if ok && both && first == second && first > 0 {
			symmetric++
		}
	}
	if n > 3 && len(met) <= 1 {
		found = append(found, LowDiversity)
	}
	if n > 1 && 2*fast > n {
		found = append(found, FastSessions)
	}
	if n > 1 && 2*symmetric > n {
		found = append(found, SymmetricConcessions)
	}
	if self {
		found = append(found, SelfDealing)
	}
	return found
}

func (h *history) checkSybil() error {
	if err := h.none(); err != nil {
		return err
	}
	if found := h.patterns(); len(found) > 0 {
		return RuleSybil.Because(h.at, fmt.Errorf("%v", found))
	}
	return nil
}

// checkVersion checks the version marker. It is outside the signature, so only what
// is known to mean nothing else may stand there.
func checkVersion(v wire.Value, name string) error {
	if marker, ok := v.Get(name); ok && marker.Text() != HistoryVersion {
		return RuleHistoryVersion.At("/" + name)
	}
	return nil
}

// shapeOfHistory checks v against a schema, but for its lists: a thousand receipts
// need not be decoded for that, and do not count to the size of the artifact.
func shapeOfHistory(v wire.Value, name string, rule *wire.Rule, lists ...string) (wire.Reader, error) {
	if v.Depth() > wire.MaxDepth {
		return wire.Reader{}, wire.RuleDepth.At("")
	}
	hollow := v
	for _, l := range lists {
		if list, _ := v.Get(l); list.Kind() == wire.Array {
			hollow = hollow.With(l, emptyArray)
		}
	}
	if _, err := Shape(hollow, name, rule); err != nil {
		return wire.Reader{}, err
	}
	return wire.Read(v, "", rule), nil
}
