package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// A moveVerb is a message as a verb of concordia session. Its flags are members of the
// body: flag, path, usage, how it is read.
type moveVerb struct {
	verb, short string
	t           wire.MessageType
	terms       string // the member that --term fills; "": none
	flags       [][4]string
	example     string // what may follow the session
}

// leaving are the flags of moves that may come back.
var leaving = [][4]string{
	{"reason", "reason", "`text` that says why", "text"},
	{"reactivatable", "reactivatable", "whether you would come back: `true|false`", "bool"},
	{"returns-if", "returns_if", "JSON `file` with what would bring you back", "json"},
}

// offering are the flags of offers.
var offering = [][4]string{
	{"offer-id", "offer_id", "`id` of the offer instead of a new one", "text"},
	{"complete", "complete", "whether every term is settled: `true|false`", "bool"},
	{"valid-until", "valid_until", "`time` at which the offer lapses", "time"},
}

// accepting are the flags of acceptances.
var accepting = [][4]string{
	{"offer-id", "offer_id", "`id` of the offer, which has to be the current one", "text"},
	{"bundle", "bundle_id", "`id` of the bundle that you take", "text"},
}

// moveVerbs are all messages but open, which opens.
var moveVerbs = []moveVerb{
	{"accept-session", "Agree to negotiate", wire.TypeAcceptSession, "", [][4]string{{"extensions", "extensions", "comma-separated `list` of those of the open message", "list"}}, ""},
	{"decline", "Decline to negotiate", wire.TypeDeclineSession, "", leaving, `--reason "no budget"`},
	{"offer", "Make an offer", wire.TypeOffer, "terms", offering, "--term price=2200:USD --term condition=like_new"},
	{"counter", "Make an offer in place of the current one", wire.TypeCounter, "terms", offering, "--term price=2050:USD --term condition=like_new"},
	{"accept", "Accept the current offer", wire.TypeAccept, "accepted_terms", accepting, `--reasoning "Agreed."`},
	{"reject", "Reject, which ends the session", wire.TypeReject, "", leaving, `--reason "too expensive"`},
	{"withdraw", "Leave, which ends the session", wire.TypeWithdraw, "", leaving, `--reason "sold already"`},
	{"signal", "Tell what matters to you", wire.TypeSignal, "", append([][4]string{
		{"priority", "priority_ranking", "comma-separated `list` of terms, what matters most first", "list"},
		{"flexibility", "flexibility", "JSON `file` with how flexible you are in each term", "json"},
	}, leaving...), "--priority delivery,price"},
	{"constrain", "Declare bounds that bind you", wire.TypeConstrain, "", [][4]string{{"constraints", "constraints", "JSON `file` with bounds by term", "json"}}, "--constraints bounds.json"},
	{"inquire", "Ask about terms", wire.TypeInquire, "", [][4]string{{"terms", "term_ids", "comma-separated `list` of terms", "list"}}, "--terms price,delivery"},
	{"nominate", "Propose a mediator", wire.TypeProposeMediator, "", [][4]string{{"mediator", "mediator_id", "`id` of the mediator", "text"}}, "--mediator did:web:mediator.example"},
	{"resolve", "Propose a resolution, as the mediator", wire.TypeResolve, "terms", [][4]string{{"mechanism", "mechanism", "`text` that says how it came about", "text"}}, "--term price=2100:USD"},
	{"commit", "Commit to the agreement", wire.TypeCommit, "", accepting, ""},
}

// verbOf is the verb of a message type.
func verbOf(t wire.MessageType) string {
	for _, m := range moveVerbs {
		if m.t == t {
			return m.verb
		}
	}
	return t.Short()
}

// A termsFlag is --term, which fills a member of a body.
type termsFlag struct {
	member string
	texts  []string
}

func (t *termsFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&t.texts, "term", nil, "`NAME=VALUE`, or NAME=VALUE:CUR with a currency (repeatable)")
}

// put sets the terms in a body.
func (t *termsFlag) put(body wire.Value) (wire.Value, error) {
	for _, text := range t.texts {
		name, term, err := parseTerm(text)
		if err != nil {
			return body, err
		}
		if body, err = put(body, term, []string{t.member, name}); err != nil {
			return body, cli.Usagef("--term %s: %v", name, err)
		}
	}
	return body, nil
}

// parseTerm reads price=2050:USD. A value that is JSON is that, any other is a text, and
// without one the term has none yet.
func parseTerm(text string) (name string, term wire.M, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", nil, cli.Usagef("--term: want NAME=VALUE, as price=2050:USD or condition=like_new")
	}
	term = wire.M{}
	if i := strings.LastIndexByte(value, ':'); i >= 0 && isCurrency(value[i+1:]) {
		v, err := wire.Parse([]byte(value[:i]), wire.DocumentLimits)
		if i == 0 || err == nil && v.Kind() == wire.Number {
			term["currency"], value = value[i+1:], value[:i]
		}
	}
	if value != "" {
		v, err := wire.Parse([]byte(value), wire.DocumentLimits)
		if err != nil {
			v = wire.Text(value)
		}
		term["value"] = v
	}
	return name, term, nil
}

func isCurrency(s string) bool {
	return len(s) == 3 && strings.IndexFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' }) < 0
}

// moveCommand makes a verb of a message.
func (a *app) moveCommand(m moveVerb) *cobra.Command {
	cmd := &cobra.Command{
		Use: m.verb + " SESSION", Short: m.short,
		Long: m.short + `.

It is said in a session of the node of --dir. What the rules of the session or the node's
policy do not allow is refused before anyone sees it. If another message came first,
nothing is sent: it shows what was missed, and you decide anew.

The body comes from flags, from a JSON file with --in, or from both.

Exit codes: 0 done, 1 refused, 2 wrong usage, 3 it could not be tried, or nobody answered.`,
		Example: strings.TrimRight("  concordia session "+m.verb+" ses_4a1b --dir seller "+m.example, " "),
	}
	i := (&issuing{app: a}).draft(cmd).with(cmd, m.flags...)
	terms := &termsFlag{member: m.terms}
	if m.terms != "" {
		terms.register(cmd)
	}
	var reasoning, id, tip string
	cmd.Flags().StringVar(&reasoning, "reasoning", "", "`text` for the other side; it is signed, and binds nobody")
	cmd.Flags().StringVar(&id, "id", "", "message `id`: the same move with the same id is made once, however often it is asked for")
	cmd.Flags().StringVar(&tip, "tip", "", "`hash` of the last message that you know: refused if another one came")
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		body, err := i.read(cmd)
		if err != nil {
			return err
		}
		if body, err = terms.put(body); err != nil {
			return err
		}
		move := node.Move{Session: wire.SessionID(args[0]), Type: m.t, Body: body, Reasoning: reasoning, ID: wire.MessageID(id)}
		if tip != "" {
			if move.Tip, err = wire.ParseHash(tip); err != nil {
				return cli.Usagef("--tip: %v", err)
			}
			if move.Tip == (wire.Hash{}) {
				return cli.Usagef("--tip: no message has that hash")
			}
		}
		if err := v.settle(ctx); err != nil {
			return err
		}
		view, err := v.Move(ctx, move)
		if err != nil {
			return err
		}
		return v.printView(view)
	})
}
