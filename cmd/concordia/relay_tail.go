package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A tailing hands over the entries of an agent's sessions.
type tailing struct {
	*relayAgent
	errs      io.Writer
	positions *positionFile

	mu      sync.Mutex // guards what follows
	unknown int        // entries whose sender's key is not known
}

func (a *app) relayTailCommand() *cobra.Command {
	var follow bool
	var positions string
	t := &tailing{}
	cmd, r := a.relayVerb(&cobra.Command{
		Use: "tail [SESSION]", Short: "Hand over what comes, verified, each entry once",
		Long: `tail prints the entries of all sessions that the agent has joined, or of one, in the order
of each log: who, when, and what was said. Each was signed by its sender and continues
the chain, and is acknowledged to the relay. With --json it prints an object a line,
with the entry in full.

How far it has come stands in KEYFILE.HOST.positions, or the file of --positions, so that
it goes on where it was; an entry that was printed when it was killed may be printed
again. --follow=false ends when it is up to date. Of one session alone it asks every
second.

What the relay does wrong (an entry that was altered, left out, shown twice, ...) is told
on standard error and ends it. Entries of agents whose key is not known, neither from
--keys nor from the id, are handed over as unverified.

Exit codes: 0 up to date, or interrupted, 1 the relay misbehaved or refused, 2 wrong
usage, 3 it could not be tried, 4 something was handed over unverified.`,
		Example: `  concordia relay tail --relay https://relay.example --key buyer.key
  concordia relay tail ses_4a1b --follow=false --json --relay https://relay.example --key buyer.key`,
		Args: cobra.MaximumNArgs(1),
	}, nil)
	cmd.Flags().BoolVar(&follow, "follow", true, "go on until interrupted; =false ends when it is up to date")
	cmd.Flags().StringVar(&positions, "positions", "", "`file` that says how far it has come, instead of KEYFILE.HOST.positions")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		t.relayAgent, t.errs = r, cmd.ErrOrStderr()
		return t.run(ctx, args, positions, follow)
	}
	return cmd
}

func (t *tailing) run(ctx context.Context, args []string, positions string, follow bool) (err error) {
	if positions == "" && t.key != "" && t.relay != "" {
		positions = t.beside("positions")
	}
	if t.positions, err = openPositions(positions); err != nil {
		return err
	}
	misbehaves, accuse := context.WithCancelCause(ctx)
	defer accuse(nil)
	if err := t.open(relay.ClientOptions{
		Handle: t.handOver, Cursors: t.positions,
		Accused: func(_ context.Context, m *relay.Misconduct) { accuse(m) },
		Logger:  slog.New(slog.NewTextHandler(t.errs, &slog.HandlerOptions{Level: slog.LevelWarn})), // why nothing comes
	}); err != nil {
		return err
	}
	switch {
	case len(args) > 0:
		err = t.session(ctx, wire.SessionID(args[0]), follow)
	case follow:
		err = t.Run(misbehaves)
	default:
		err = t.upToDate(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // interrupted
	}
	if err == nil && t.unknown > 0 {
		return cli.Exit(cli.Unchecked, fmt.Errorf("%d entries are unverified: --keys gives the keys of their senders", t.unknown))
	}
	return relayed(err)
}

// upToDate hands over what is in the logs of all sessions.
func (t *tailing) upToDate(ctx context.Context) error {
	patient, cancel := t.patience(ctx)
	list, err := t.allSessions(patient)
	cancel()
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := t.session(ctx, s.Session, false); err != nil {
			return err
		}
	}
	return nil
}

// askAgain is how long tail waits before it asks for more of one session.
const askAgain = time.Second

// session hands over what is in the log of one session.
func (t *tailing) session(ctx context.Context, id wire.SessionID, follow bool) error {
	wait := time.NewTicker(askAgain)
	defer wait.Stop()
	for {
		more, err := t.page(ctx, id)
		switch {
		case err != nil:
			return err
		case more:
			continue
		case !follow:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
		}
	}
}

// page hands over as many entries as the relay gives at once, and reports whether there
// are more.
func (t *tailing) page(ctx context.Context, id wire.SessionID) (more bool, err error) {
	at, err := t.positions.Position(ctx, id)
	if err != nil {
		return false, err
	}
	patient, cancel := t.patience(ctx)
	defer cancel()
	list, length, err := t.ReadBehind(patient, id, at)
	if err != nil {
		return false, err
	}
	for _, d := range list {
		if err := t.handOver(ctx, d); err != nil {
			return false, err
		}
		at = d.Position
	}
	if len(list) > 0 {
		if err := t.positions.SetPosition(ctx, id, at); err != nil {
			return false, err
		}
		err = t.Ack(patient, id, at.Number)
	}
	return at.Number < length, err
}

// A handedOver entry is a relay.Delivery for programs.
type handedOver struct {
	Session  wire.SessionID `json:"session_id"`
	Number   uint64         `json:"number"`
	From     wire.AgentID   `json:"from"`
	Own      bool           `json:"own"`
	Appended string         `json:"appended_at"`
	Verified bool           `json:"verified"`
	Problem  *problem       `json:"problem,omitempty"`
	Entry    wire.Value     `json:"entry"`
}

// handOver prints an entry.
func (t *tailing) handOver(_ context.Context, d relay.Delivery) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := handedOver{
		Session: d.Session, Number: d.Number, From: d.From(), Own: d.Own, Appended: wire.FormatTime(d.Appended),
		Verified: d.Message != nil || d.Enclosure != nil, Problem: problemOf(d.Err), Entry: d.UnverifiedEntry,
	}
	what, says := "", ""
	switch {
	case d.Message != nil:
		v.Entry, what, says = d.Message.Value(), d.Message.Type.Short(), describe(d.Message.Type, d.Message.Body)
	case d.Enclosure != nil:
		v.Entry, what, says = d.Enclosure.Value(), "enclosure", d.Enclosure.Kind
	default:
		what = "unverified"
		t.unknown++
	}
	if d.Err != nil {
		fmt.Fprintf(t.errs, "session %s, entry %d: %v\n", cli.Printable(string(d.Session)), d.Number, d.Err)
	}
	out := t.app.out
	out.printf("%s  %d  %s  %s  %s  %s\n", cli.Printable(string(d.Session)), d.Number, v.Appended, cli.Printable(string(v.From)), out.paint(bold, what), says)
	if !out.json {
		return nil
	}
	e := json.NewEncoder(out.w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (a *app) relayExportCommand() *cobra.Command {
	var cmd *cobra.Command
	cmd, _ = a.relayVerb(&cobra.Command{
		Use: "export SESSION", Short: "Write the whole log of a session as a transcript",
		Long: `export writes the log of a session, verified, as a transcript that concordia verify
accepts whole: {"messages": [...], "enclosures": [...]}, canonical JSON in one line. If
an enclosure is a receipt that all parties have countersigned, it stands beside them;
one that does not verify, which any party can append, does not.

Exit codes: 0 written, 1 refused, or the relay misbehaved, 2 wrong usage, 3 it could
not be tried.`,
		Example: "  concordia relay export ses_4a1b --relay https://relay.example --key seller.key >transcript.json", Args: cli.Takes,
	}, func(ctx context.Context, r *relayAgent, args []string) error {
		t, err := r.Transcript(ctx, wire.SessionID(args[0]))
		if err != nil {
			return err
		}
		messages, enclosures := []wire.Value{}, []wire.Value{}
		for _, m := range t.Messages {
			messages = append(messages, m.Value())
		}
		for _, e := range t.Enclosures {
			enclosures = append(enclosures, e.Value())
		}
		doc := wire.M{"messages": messages, "enclosures": enclosures}
		receipt, bad := soundReceipt(t, r.Client, a.now())
		if receipt.Kind() == wire.Object {
			doc["receipt"] = receipt
		}
		if bad > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d enclosures are receipts that do not verify, and stand among the enclosures alone\n", bad)
		}
		return a.artifact(wire.Encode(doc))
	})
	return cmd
}

// maxReceipts bounds how many enclosures are tried as the receipt of a transcript: each
// party can append as many as it likes.
const maxReceipts = 16

// soundReceipt returns the receipt that the relay has named, or if that does not hold
// the last of the enclosures that does; absent if there is none. It says how many did
// not hold.
func soundReceipt(t *relay.Transcript, keys wire.Keys, now time.Time) (receipt wire.Value, bad int) {
	if t.UnverifiedReceipt.Kind() != wire.Object {
		return receipt, 0
	}
	doc := session.Document{}
	for _, m := range t.Messages {
		doc.Messages = append(doc.Messages, m.Value())
	}
	tries := []wire.Value{t.UnverifiedReceipt}
	for _, e := range slices.Backward(t.Enclosures) {
		if e.Kind == relay.KindReceipt && len(tries) < maxReceipts && e.Content.Hash() != t.UnverifiedReceipt.Hash() {
			tries = append(tries, e.Content)
		}
	}
	for _, doc.Receipt = range tries {
		if _, report := doc.Check(doc.SessionID(), keys, now, nil, parallel); report.Outcome() != wire.Failed {
			return doc.Receipt, bad
		}
		bad++
	}
	return receipt, bad
}
