package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// defaultPatience is how long a verb waits for its node.
const defaultPatience = 30 * time.Second

func (a *app) sessionOpenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "open", Short: "Open a session and invite others to it", Args: cobra.NoArgs,
		Long: `open opens a session and invites those that --to names, by id or by the name of a
contact. The open message is sent when the first of them has joined.

The body comes from flags, from a JSON file with --in, or from both. A --term says what
is negotiated: condition=like_new has a value already, price=:USD only a currency, and
delivery= nothing yet; types, labels and bounds go into the file.

Exit codes: 0 done, 1 refused, 2 wrong usage, 3 it could not be tried, or nobody answered.`,
		Example: `  concordia session open --to did:key:z6Mk... --in camera.json --dir seller
  concordia session open --to ada --category electronics.cameras --term price=:USD --term delivery= --dir seller`,
	}
	i := (&issuing{app: a}).draft(cmd).with(cmd,
		[4]string{"category", "category", "what is traded, as `electronics.cameras`", "text"},
		[4]string{"value-range", "value_range", "how much is at stake, as `1000-5000_USD`", "text"},
		[4]string{"ttl", "timing.session_ttl", "`seconds` that the session may take", "int"},
		[4]string{"offer-ttl", "timing.offer_ttl", "`seconds` for which an offer stands", "int"},
		[4]string{"max-rounds", "timing.max_rounds", "`number` of offers that there may be", "int"},
	)
	terms := &termsFlag{member: "terms"}
	terms.register(cmd)
	var to, others []string
	var o node.Opening
	var id, way, mandate string
	f := cmd.Flags()
	f.StringArrayVar(&to, "to", nil, "`agent` to invite, by id or the name of a contact (repeatable)")
	f.StringArrayVar(&others, "other", nil, "`agent` who may join besides: a witness or a mediator (repeatable)")
	f.IntVar(&o.Places, "places", 0, "without --to: `number` of places for who comes first, at most 1")
	f.StringVar(&way, "way", "", "`way` in which they are invited: relay, direct or none; by the home relay if there is one")
	f.StringVar(&o.Reasoning, "reasoning", "", "`text` for the other side; it is signed, and binds nobody")
	f.StringVar(&mandate, "mandate", "", "JSON `file` with a mandate to present")
	f.StringVar(&id, "id", "", "session `id`: the same opening with the same id happens once")
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, _ []string) (err error) {
		if o.Body, err = i.read(cmd); err != nil {
			return err
		}
		if o.Body, err = terms.put(o.Body); err != nil {
			return err
		}
		if mandate != "" {
			if o.Mandate, err = readJSONInput(mandate); err != nil {
				return err
			}
		}
		o.Session, o.Way = wire.SessionID(id), node.Way(way)
		if o.To, err = v.agents(ctx, to); err != nil {
			return err
		}
		if o.Others, err = v.agents(ctx, others); err != nil {
			return err
		}
		view, err := v.Open(ctx, o)
		if err != nil {
			return err
		}
		return v.printView(view)
	})
}

// agents finds agents by id or by the name of a contact.
func (v *nodeVerb) agents(ctx context.Context, names []string) ([]wire.AgentID, error) {
	if len(names) == 0 {
		return nil, nil
	}
	contacts, err := v.Contacts(ctx)
	if err != nil {
		return nil, err
	}
	var list []wire.AgentID
	for _, name := range names {
		id, found := wire.AgentID(name), 0
		for _, c := range contacts {
			if c.Name == name {
				id, found = c.Agent, found+1
			}
		}
		if found > 1 {
			return nil, cli.Usagef("%d contacts are called %q: name the id", found, name)
		}
		list = append(list, id)
	}
	return list, nil
}

// printView shows how a session stands.
func (v *nodeVerb) printView(s node.View) error {
	a := v.app
	a.out.printf("%s  %s\n", a.out.paint(bold, "session "+cli.Printable(string(s.Session))), s.State)
	a.out.table(v.viewRows(s))
	return a.out.value(s)
}

func (v *nodeVerb) viewRows(s node.View) (rows [][]string) {
	row := func(name string, text string) {
		if text != "" {
			rows = append(rows, []string{name, text})
		}
	}
	row("role", string(s.Role))
	row("messages", fmt.Sprint(s.Len))
	if s.Offer != nil {
		from := cli.Printable(string(s.Offer.From))
		if s.Offer.Own {
			from = "you"
		}
		row("offer", fmt.Sprintf("%s, by %s, until %s", describe(wire.TypeOffer, s.Offer.Body), from, wire.FormatTime(s.Offer.Ends)))
	}
	row("agreed", termsText(s.Deal))
	if s.Ending != nil && s.State != session.Agreed {
		row("reason", cli.Printable(cut(s.Ending.Reason, 300)))
		row("breach", s.Ending.Breach)
	}
	row("receipt", string(s.Receipt))
	if !s.Deadline.IsZero() && s.Receipt == node.NoReceipt {
		row("until", wire.FormatTime(s.Deadline))
	}
	row("you may", shortTypes(s.Moves))
	row("waiting for", agentList(s.Coming))
	row("not told yet", agentList(s.Undelivered))
	for _, m := range s.Mandates {
		text := fmt.Sprintf("%s of %s, by %s", cli.Printable(m.ID), cli.Printable(string(m.By)), cli.Printable(string(m.Issuer)))
		if m.Broken != "" {
			text += ": broken: " + cli.Printable(m.Broken)
		}
		row("mandate", text)
	}
	row("misconduct", cli.Printable(s.Misconduct))
	return rows
}

func agentList(list []wire.AgentID) string {
	names := make([]string, len(list))
	for i, id := range list {
		names[i] = cli.Printable(string(id))
	}
	return strings.Join(names, ", ")
}

func (a *app) sessionListCommand() *cobra.Command {
	var f node.Filter
	var state, with, after string
	cmd := &cobra.Command{
		Use: "list", Short: "List the sessions of a node", Args: cobra.NoArgs,
		Long:    `list lists the sessions of the node of --dir, in the order in which they began here.`,
		Example: "  concordia session list --dir seller\n  concordia session list --live --with did:key:z6Mk... --dir seller --json",
	}
	cmd.Flags().StringVar(&state, "state", "", "only those in this `state`, as AGREED")
	cmd.Flags().StringVar(&with, "with", "", "only those with this `agent`, by id or the name of a contact")
	cmd.Flags().BoolVar(&f.Live, "live", false, "only those in which something may happen")
	cmd.Flags().StringVar(&after, "after", "", "only those that began after this `session`")
	cmd.Flags().IntVar(&f.Most, "limit", 100, "`number` of sessions at most, up to 1000")
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, _ []string) error {
		f.State, f.After = protocol.State(strings.ToUpper(state)), wire.SessionID(after)
		if with != "" {
			ids, err := v.agents(ctx, []string{with})
			if err != nil {
				return err
			}
			f.With = ids[0]
		}
		if err := v.settle(ctx); err != nil {
			return err
		}
		list, err := v.Sessions(ctx, f)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, s := range list {
			turn := ""
			if s.Turn {
				turn = "your turn"
			}
			rows = append(rows, []string{cli.Printable(string(s.Session)), string(s.State), fmt.Sprint(s.Len), cli.Printable(s.Category), string(s.Receipt), turn})
		}
		a.out.table(rows)
		if list == nil {
			list = []node.Summary{}
		}
		return a.out.value(list)
	})
}

// showLive shows a session of a node: what was said, and how it stands.
func (v *nodeVerb) showLive(ctx context.Context, id wire.SessionID, keys wire.Keys, imported bool) error {
	view, err := v.Session(ctx, id)
	if err != nil {
		return err
	}
	if v.out.json || view.Len == 0 {
		return v.printView(view)
	}
	value, err := v.Document(ctx, id)
	if err != nil {
		return err
	}
	doc, err := session.ReadDocument(value)
	if err != nil {
		return err
	}
	contacts, err := v.Contacts(ctx)
	if err != nil {
		return err
	}
	known := wire.KeyMap{}
	for _, c := range contacts {
		for _, k := range c.Keys {
			if key, err := wire.DecodePublicKey(k.Key); err == nil {
				known[c.Agent] = key
			}
		}
	}
	err = v.showSession(doc, wire.AnyKeys{known, keys}, imported)
	v.out.table(v.viewRows(view))
	return err
}

func (a *app) sessionDocumentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export SESSION", Short: "Write the transcript file of a session, with its receipt",
		Long: `export prints the messages of a session of the node of --dir and its receipt, if
there is one: what concordia verify verifies, offline.`,
		Example: "  concordia session export ses_4a1b --dir seller > transcript.json\n  concordia verify transcript.json",
	}
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		doc, err := v.Document(ctx, wire.SessionID(args[0]))
		if err != nil {
			return err
		}
		return a.artifact(doc, nil)
	})
}

func (a *app) sessionPresentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "present SESSION FILE", Short: "Hand a mandate or an approval to the parties",
		Long:    `present hands a mandate or an approval receipt to the parties of a session. It is no move.`,
		Example: "  concordia session present ses_4a1b mandate.json --dir buyer",
	}
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		artifact, err := readJSONInput(args[1])
		if err != nil {
			return err
		}
		if err := v.Present(ctx, wire.SessionID(args[0]), artifact); err != nil {
			return err
		}
		v.out.printf("presented\n")
		return v.out.value(map[string]any{"session_id": args[0], "presented": artifact.Hash()})
	})
}

// until are the moments at which session watch may end.
var until = map[string]func(node.View) bool{
	"open":    func(v node.View) bool { return v.Len > 0 },
	"active":  func(v node.View) bool { return v.State == session.Active || isOver(v) },
	"turn":    func(v node.View) bool { return v.Turn || isOver(v) },
	"end":     isOver,
	"receipt": func(v node.View) bool { return v.Receipt == node.ReceiptDone },
}

// isOver reports whether a session has come to an end.
func isOver(v node.View) bool {
	return v.State == session.Agreed || v.State == session.Rejected || v.State == session.Expired || v.State == session.Dormant
}

func (a *app) sessionWatchCommand() *cobra.Command {
	var when string
	var from int
	cmd := &cobra.Command{
		Use: "watch SESSION", Short: "Watch a session as it goes on",
		Long: `watch prints each message of a session when it comes, one a line, until the session is
over and its receipt complete; --until says to end earlier: open (the open message is
there), active, turn (it is your turn), end, receipt, or when there are so many messages.
With --json a line is an object: a
message as it was signed, and at the end the session as it stands.

Exit codes: 0 it came to what --until says, or was interrupted, 1 refused, 2 wrong usage,
3 it could not be tried, or took longer than --timeout.`,
		Example: "  concordia session watch ses_4a1b --dir seller\n  concordia session watch ses_4a1b --until turn --dir seller",
	}
	cmd.Flags().StringVar(&when, "until", "receipt", "open, active, turn, end, receipt, or a `number` of messages")
	cmd.Flags().IntVar(&from, "from", 0, "`number` of messages to skip")
	return a.nodeVerb(cmd, 0, func(ctx context.Context, v *nodeVerb, args []string) error {
		ends, ok := until[when]
		if n, err := strconv.Atoi(when); err == nil {
			ends, ok = func(v node.View) bool { return v.Len >= n || isOver(v) }, true
		}
		if !ok {
			return cli.Usagef("--until: want open, active, turn, end, receipt, or a number of messages")
		}
		err := v.watch(ctx, wire.SessionID(args[0]), from, ends)
		if errors.Is(err, context.Canceled) {
			return nil // interrupted
		}
		return err
	})
}

// watch prints messages until a session is as it should be.
func (v *nodeVerb) watch(ctx context.Context, id wire.SessionID, from int, ends func(node.View) bool) error {
	self, err := v.Self(ctx)
	if err != nil {
		return err
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	contacts, err := v.Contacts(ctx)
	if err != nil {
		return err
	}
	names := map[wire.AgentID]string{self.Agent: "you"}
	for _, c := range contacts {
		if c.Name != "" {
			names[c.Agent] = c.Name
		}
	}
	view, err := v.Session(ctx, id)
	state := protocol.State("")
	for err == nil {
		for from < view.Len {
			list, err := v.Messages(ctx, id, from, 100)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			for _, m := range list {
				if err := v.printMessage(view, names, from, m); err != nil {
					return err
				}
				from++
			}
		}
		if view.State != state {
			state = view.State
			v.out.printf("  %s\n", v.out.paint(yellow, string(state)))
		}
		if ends(view) {
			v.out.table(v.viewRows(view))
			return v.line(view)
		}
		view, err = v.Wait(ctx, id, view.Version)
	}
	return err
}

// line prints JSON on one line.
func (v *nodeVerb) line(x any) error {
	if !v.out.json {
		return nil
	}
	e := json.NewEncoder(v.out.w)
	e.SetEscapeHTML(false)
	return e.Encode(x)
}

// printMessage prints a message with who said it: you, a contact, or one of two.
func (v *nodeVerb) printMessage(view node.View, names map[wire.AgentID]string, index int, m wire.Value) error {
	u, err := wire.ReadMessage(m)
	if err != nil {
		return err
	}
	who := names[u.From]
	for i, role := range []string{"initiator", "responder"} {
		if who == "" && len(view.Parties) == 2 && view.Parties[i] == u.From {
			who = role
		}
	}
	if who == "" {
		who = string(u.From)
	}
	v.printLine(who, moveOf(index, u.Envelope))
	return v.line(m)
}
