package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// Market is what a node does at the market of its home relay (RFC 0004). What comes from
// there is the market's word: a market.Client verifies what others have signed of it.
type Market interface {
	// AskMarket asks for an operation of the market that changes nothing there, and
	// ChangeMarket for one that does. Operations of other services, and those of RFC 0001,
	// are refused. A market that is told the same again changes nothing more.
	AskMarket(ctx context.Context, op string, request wire.Value) (wire.Value, error)
	ChangeMarket(ctx context.Context, op string, request wire.Value) (wire.Value, error)

	// SignEntry completes the draft of a want or a have, which has its type, and signs it:
	// whose it is and when it was made say the node, and the id if the draft has none.
	// (SPEC §7.1)
	SignEntry(ctx context.Context, draft wire.Value) (wire.Value, error)

	// SignProfile completes the draft of this agent's profile, and signs it. (SPEC §9.12)
	SignProfile(ctx context.Context, draft wire.Value) (wire.Value, error)
}

// The operations of a market that a node passes on, each for itself: whoever asks the node
// does not get to use its token for anything else.
var (
	marketQuestions = []string{
		"market_entry", "market_search", "market_matches", "market_agent", "market_agents", "market_profile", "market_profiles", "market_stats",
	}
	marketChanges = []string{
		"market_post", "market_withdraw", "market_list", "market_unlist", "market_publish", "market_unpublish",
	}
)

// marketPatience is how long the node tries to reach a market: less than whoever asks
// it waits, so that it hears what is wrong.
const marketPatience = 20 * time.Second

type marketArgs struct {
	Op      string     `json:"operation"`
	Request wire.Value `json:"request"`
}

type draftArgs struct {
	Draft wire.Value `json:"draft"`
}

var (
	opAskMarket = asks("ask_market", func(ctx context.Context, api API, in marketArgs) (wire.Value, error) {
		return api.AskMarket(ctx, in.Op, in.Request)
	})
	opChangeMarket = takes("change_market", func(ctx context.Context, api API, in marketArgs) (wire.Value, error) {
		return api.ChangeMarket(ctx, in.Op, in.Request)
	})
	opSignEntry = asks("sign_entry", func(ctx context.Context, api API, in draftArgs) (wire.Value, error) {
		return api.SignEntry(ctx, in.Draft)
	})
	opSignProfile = asks("sign_profile", func(ctx context.Context, api API, in draftArgs) (wire.Value, error) {
		return api.SignProfile(ctx, in.Draft)
	})
)

var marketOperations = []*operation{opAskMarket, opChangeMarket, opSignEntry, opSignProfile}

// AskMarket implements [API].
func (r *Remote) AskMarket(ctx context.Context, op string, request wire.Value) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opAskMarket, marketArgs{op, request})
}

// ChangeMarket implements [API].
func (r *Remote) ChangeMarket(ctx context.Context, op string, request wire.Value) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opChangeMarket, marketArgs{op, request})
}

// SignEntry implements [API].
func (r *Remote) SignEntry(ctx context.Context, draft wire.Value) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opSignEntry, draftArgs{draft})
}

// SignProfile implements [API].
func (r *Remote) SignProfile(ctx context.Context, draft wire.Value) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opSignProfile, draftArgs{draft})
}

// AskMarket implements [API].
func (n *Node) AskMarket(ctx context.Context, op string, request wire.Value) (wire.Value, error) {
	if op == "market_matches" {
		id, _ := request.Get("id")
		n.matches.asked(match.ID(id.Text()))
	}
	return n.useMarket(ctx, marketQuestions, op, request)
}

// ChangeMarket implements [API].
func (n *Node) ChangeMarket(ctx context.Context, op string, request wire.Value) (wire.Value, error) {
	return n.useMarket(ctx, marketChanges, op, request)
}

func (n *Node) useMarket(ctx context.Context, allowed []string, op string, request wire.Value) (wire.Value, error) {
	switch {
	case !slices.Contains(allowed, op):
		return wire.Value{}, refuse(CodeBadRequest, "that is no such operation of a market")
	case request.Kind() != wire.Object:
		return wire.Value{}, refuse(CodeBadRequest, "the request is no JSON object")
	case n.opts.Relay == "":
		return wire.Value{}, refuse(CodeNoMarket, "this node has no home relay, and so no market: have its owner give it a relay that runs with --market")
	}
	c, err := n.carrier(n.opts.Relay)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	members := wire.M{}
	for name, x := range request.Members() {
		members[name] = x
	}
	short, stop := context.WithTimeout(ctx, marketPatience)
	defer stop()
	v, err := c.client.Call(short, op, members)
	if relay.CodeOf(err) == relay.CodeBadRequest {
		// That is how a relay without a market answers, too.
		if _, none := c.client.Call(short, "market_entry", wire.M{"id": "want_none"}); relay.CodeOf(none) == relay.CodeBadRequest {
			return wire.Value{}, &Error{Code: CodeNoMarket, Message: "the home relay has no market: have its operator run it with --market, or use another one", err: err}
		}
	}
	return v, n.marketFailed(ctx, err)
}

// marketFailed makes an *Error of why a market did not do what it was asked.
func (n *Node) marketFailed(ctx context.Context, err error) error {
	refused, isRefusal := errors.AsType[*relay.Error](err)
	switch {
	case isRefusal:
		e := ofRelay(refused, err)
		switch refused.Code {
		case relay.CodeNotFound:
			e.Message = "there is none at the market, or it is not this agent's"
		case relay.CodeBadRequest:
			e.Code, e.Message = CodeBadRequest, "the market does not take this: something in it has another form than the market wants"
		case relay.CodeIDConflict:
			e.Code, e.Message = CodeTaken, "another want or have has the id: leave it out, or withdraw the other one"
		case relay.CodeRejected:
			e.Message = "the market refuses it: it breaks a rule"
		case relay.CodeOutdated:
			e.RetryAfter, e.Message = 1, "the market has a profile that was updated then or later, or had: try again in a second"
		}
		return e
	case errors.Is(err, relay.RuleAnswer):
		return &Error{Code: CodeMisconduct, Message: "what the market answers is no answer of RFC 0004", err: err}
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return &Error{Code: CodeUnreachable, Message: "the market does not answer", err: err}
	}
	return n.failed(err)
}

// SignEntry implements [API].
func (n *Node) SignEntry(_ context.Context, draft wire.Value) (wire.Value, error) {
	if draft.Kind() != wire.Object {
		return wire.Value{}, refuse(CodeBadRequest, "the draft is no JSON object")
	}
	kind, _ := draft.Get("type")
	prefix := map[string]string{string(match.Want): "want_", string(match.Have): "have_"}[kind.Text()]
	if prefix == "" {
		return wire.Value{}, refuse(CodeBadRequest, "the type of the draft is neither that of a want nor that of a have")
	}
	if id, _ := draft.Get("id"); id.Kind() == wire.Absent {
		id, err := wire.NewID[match.ID](prefix, n.opts.Random)
		if err != nil {
			return wire.Value{}, n.failed(err)
		}
		draft = draft.With("id", wire.Text(string(id)))
	}
	draft = draft.With("agent_id", wire.Text(string(n.opts.Agent))).With("created_at", wire.Text(wire.FormatTime(n.now())))
	v, err := match.Sign(draft, n.opts.Key)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	if _, err := match.Read(v); err != nil { // nobody has seen it
		return wire.Value{}, n.failed(err)
	}
	return v, nil
}

// SignProfile implements [API].
func (n *Node) SignProfile(_ context.Context, draft wire.Value) (wire.Value, error) {
	if draft.Kind() != wire.Object {
		return wire.Value{}, refuse(CodeBadRequest, "the draft is no JSON object")
	}
	v, err := attest.Issuer{Agent: n.opts.Agent, Key: textSigner{n.opts.Key}, Now: n.now().UTC(), Random: n.opts.Random, Keys: n}.Profile(draft)
	for _, known := range []error{attest.ErrOtherIssuer, attest.ErrAlgorithm, attest.ErrTwoKinds} {
		if errors.Is(err, known) {
			return wire.Value{}, &Error{Code: CodeBadRequest, Message: known.Error(), err: err}
		}
	}
	return v, n.failed(err)
}

// A textSigner signs artifacts with the key that signs messages.
type textSigner struct{ wire.Signer }

// SignText implements [wire.TextSigner].
func (s textSigner) SignText(message []byte) (string, error) {
	sig, err := s.Sign(message)
	return sig.String(), err
}

// A matchBoard knows for which entries a notice says that there are new matches, until
// somebody asks for them: a market can tell as often as it likes, and must not fill the
// notices.
type matchBoard struct {
	mu    sync.Mutex // guards what follows
	known map[match.ID]bool
}

// maxMatchNotices bounds the entries of which notices tell that nobody asked about.
const maxMatchNotices = 1000

func (b *matchBoard) asked(id match.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, id)
}

// told reports whether a notice is to be made.
func (b *matchBoard) told(id match.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[id] || len(b.known) >= maxMatchNotices {
		return false
	}
	if b.known == nil {
		b.known = map[match.ID]bool{}
	}
	b.known[id] = true
	return true
}

// told takes note of what the market of the home relay says about new matches.
func (c *carrier) told(ctx context.Context, kind string, frame wire.Value) {
	n := c.node
	if kind != "match" || c.url != n.opts.Relay {
		return
	}
	r := wire.Read(frame, "", relay.RuleAnswer)
	id := wire.ReadID[match.ID](r, "id")
	if r.Err() != nil || !n.matches.told(id) {
		return
	}
	var last uint64
	err := n.disk.update(ctx, func(tx *bolt.Tx) (err error) {
		last, err = add(tx, []Notice{{Kind: MatchCame, At: n.now().UTC(), Entry: string(id), Detail: "new matches"}})
		return err
	})
	if err != nil {
		n.matches.asked(id)
		n.log.Error("taking note of a match", "why", kindOf(err))
		return
	}
	n.notices.came(last)
}
