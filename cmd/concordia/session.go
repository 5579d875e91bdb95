package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "session",
		Short:   "Negotiate, show sessions, and salvage them from a damaged database",
		Example: "  concordia session open --to ada --term price=:USD --dir seller\n  concordia session offer ses_4a1b --term price=2050:USD --dir seller\n  concordia session show transcript.json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.sessionOpenCommand())
	for _, m := range moveVerbs {
		cmd.AddCommand(a.moveCommand(m))
	}
	cmd.AddCommand(
		a.sessionListCommand(), a.sessionWatchCommand(), a.sessionPresentCommand(), a.sessionDocumentCommand(),
		a.sessionShowCommand(), a.sessionSalvageCommand(),
	)
	return cmd
}

func (a *app) sessionShowCommand() *cobra.Command {
	var keyFiles []string
	var id string
	var imported bool
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show what was said in a session, and where it stands",
		Long: `show prints a transcript move by move: a JSON file with messages and perhaps a
receipt, or the database in which an agent keeps its transcripts. Of a database
with several sessions, --session chooses one. With --dir, FILE is the id of a session of
the node of that directory, and it shows as well what you may do.

It shows the messages that stand, and after them the evidence of a breach if there
is any. concordia verify tells more, also of the receipt.`,
		Example: `  concordia session show transcript.json
  concordia session show seller/transcripts.db --session ses_4a1b…
  concordia session show ses_4a1b --dir seller`,
	}
	a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		keys, err := readKeys(keyFiles)
		if err != nil {
			return err
		}
		return v.showLive(ctx, wire.SessionID(args[0]), keys, imported)
	})
	live := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("dir") {
			return live(cmd, args)
		}
		keys, err := readKeys(keyFiles)
		if err != nil {
			return err
		}
		doc, err := readTranscript(args[0], wire.SessionID(id))
		if err != nil {
			return err
		}
		return a.showSession(doc, keys, imported)
	}
	cmd.Flags().StringArrayVar(&keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&id, "session", "", "`id` of the session to show, of a database with several")
	importFlag(cmd, &imported)
	return cmd
}

func (a *app) sessionSalvageCommand() *cobra.Command {
	var keyFiles []string
	cmd := &cobra.Command{
		Use:   "salvage DAMAGED NEW",
		Short: "Bring what is left of a damaged database into a new one",
		Long: `salvage looks for signed messages and receipts in the bytes of a damaged database,
links the messages by their hashes, and writes what it can verify into a new
database. What is missing can be asked of the other parties.`,
		Example: `  concordia session salvage seller/transcripts.db seller/salvaged.db`,
		Args:    cli.Takes,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := readKeys(keyFiles)
			if err != nil {
				return err
			}
			if _, err := os.Stat(args[1]); err == nil {
				return cli.Usagef("%s exists; salvage writes a new file", args[1])
			}
			if _, err := os.Stat(args[0]); err != nil {
				return err
			}
			into, err := transcript.Open(args[1], nil)
			if err != nil {
				return err
			}
			s, err := transcript.Salvage(cmd.Context(), args[0], into, keys, func(receipt wire.Value) error {
				return verifyOldReceipt(receipt, keys, a.now())
			})
			if err = errors.Join(err, into.Close()); err != nil {
				return err
			}
			if s.Messages == 0 {
				return cli.Exit(cli.Rejected, errors.Join(
					fmt.Errorf("nothing in %s verifies: agents whose id is no did:key need --keys", args[0]), os.Remove(args[1])))
			}
			a.out.printf("salvaged %d messages of %d sessions, and %d receipts\n", s.Messages, s.Sessions, s.Receipts)
			a.out.printf("left out %d messages that lack their predecessors, and %d receipts that do not verify or lack their session\n", s.Orphans, s.Dropped)
			return a.out.value(s)
		},
	}
	cmd.Flags().StringArrayVar(&keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	return cmd
}

// verifyOldReceipt verifies a receipt however old it is: time takes nothing from
// what was signed.
func verifyOldReceipt(receipt wire.Value, keys wire.Keys, now time.Time) error {
	_, report := attest.Verifier{Keys: keys, Now: now}.VerifyAttestation(receipt)
	return slices.DeleteFunc(report, func(f wire.Finding) bool {
		return f.Check == "validity" || f.Check == "freshness"
	}).Err()
}

// importFlag adds the flag for transcripts of the reference implementation.
func importFlag(cmd *cobra.Command, imported *bool) {
	cmd.Flags().BoolVar(imported, "import", false, "one commit makes the deal, as in the reference implementation")
}

// readTranscript reads a transcript file, or one session of a transcript store.
func readTranscript(path string, id wire.SessionID) (session.Document, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, storeName)
	}
	if isStore(path) {
		return readStore(path, id)
	}
	v, err := readJSON(path)
	if err != nil {
		return session.Document{}, err
	}
	doc, err := session.ReadDocument(v)
	if err != nil {
		return doc, fmt.Errorf("reading %s: %w", path, err)
	}
	if id != "" && doc.SessionID() != id {
		return doc, fmt.Errorf("reading session %q: %s holds %q", id, path, doc.SessionID())
	}
	return doc, nil
}

// storeName is the file in which an agent's directory keeps its transcripts.
const storeName = "transcripts.db"

// isStore reports whether the file starts like a bbolt database.
func isStore(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false // a pipe is read once
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 20)
	_, err = f.Read(head)
	return err == nil && (bytes.Equal(head[16:], []byte{0xed, 0xda, 0x0c, 0xed}) || bytes.Equal(head[16:], []byte{0xed, 0x0c, 0xda, 0xed}))
}

func readStore(path string, id wire.SessionID) (doc session.Document, err error) {
	store, err := transcript.Open(path, &transcript.Options{ReadOnly: true})
	if err != nil {
		return doc, err
	}
	defer store.Close()
	heads, err := store.Sessions()
	if err != nil {
		return doc, err
	}
	if id == "" {
		if len(heads) != 1 {
			ids := make([]string, len(heads))
			for i, h := range heads {
				ids[i] = string(h.Session)
			}
			return doc, cli.Usagef("%s holds %d sessions; choose one with --session: %s", path, len(heads), strings.Join(ids, " "))
		}
		id = heads[0].Session
	}
	return exportSession(store, id)
}

// exportSession reads a session and its latest receipt out of a store. A receipt
// that some party has not signed yet is none.
func exportSession(store *transcript.Store, id wire.SessionID) (doc session.Document, err error) {
	head, err := store.Head(id)
	if err != nil {
		return doc, err
	}
	if head.Len == 0 {
		return doc, fmt.Errorf("reading session %q: not in this store", id)
	}
	if doc.Messages, err = store.Read(id, 0, head.Len); err != nil {
		return doc, err
	}
	receipts, err := store.Receipts(id)
	if err != nil {
		return doc, err
	}
	for _, r := range receipts {
		if at, _ := r.Get("chain_head"); at.Text() == head.Tip.String() && attest.SignedByAll(r) {
			doc.Receipt = r
		}
	}
	return doc, nil
}

// A move is one message as it is shown.
type move struct {
	Index int              `json:"index"`
	Time  string           `json:"time"`
	From  wire.AgentID     `json:"from"`
	Type  wire.MessageType `json:"type"`
	Body  wire.Value       `json:"body"`
	Says  string           `json:"reasoning,omitempty"`
}

func moveOf(index int, e wire.Envelope) move {
	return move{index, wire.FormatTime(e.Time), e.From, e.Type, e.Body, e.Reasoning}
}

// A breach is a session.Breach for programs.
type breach struct {
	By      wire.AgentID `json:"by"`
	Section string       `json:"section"`
	Rule    string       `json:"rule"`
	Move    move         `json:"move"`
}

func breachOf(s session.Session) *breach {
	b := s.Breach()
	if b == nil {
		return nil
	}
	return &breach{b.By, b.Rule.Section, b.Rule.Name, moveOf(s.Len(), b.Message.Envelope)}
}

func (a *app) showSession(doc session.Document, keys wire.Keys, imported bool) error {
	now := a.now()
	doc.Receipt = wire.Value{} // not shown
	t, report := doc.Check(doc.SessionID(), keys, now, &session.Options{Import: imported}, parallel)
	s := t.Session().At(now)
	moves := make([]move, s.Len())
	for i := range moves {
		m, err := wire.ReadMessage(doc.Messages[i])
		if err != nil {
			return err // Check has read it
		}
		moves[i] = moveOf(i, m.Envelope)
	}
	broken, fault := breachOf(s), report.Err()
	a.out.printf("%s  %s\n", a.out.paint(bold, "session "+cli.Printable(string(doc.SessionID()))), s.State())
	for _, id := range s.Parties() {
		a.out.printf("  %-10s %s\n", s.Role(id), cli.Printable(string(id)))
	}
	for _, m := range moves {
		a.printMove(s, m)
	}
	if broken != nil {
		a.printMove(s, broken.Move)
		a.out.printf("%s by %s, of %s (SPEC §%s)\n", a.out.paint(red, "breach"), cli.Printable(string(broken.By)), broken.Rule, broken.Section)
	}
	a.printDeal(s)
	if err := a.out.value(map[string]any{
		"session": doc.SessionID(), "state": s.State(), "parties": s.Parties(), "rounds": s.Rounds(),
		"moves": moves, "breach": broken, "deal": dealValue(s), "problem": problemOf(fault),
	}); err != nil {
		return err
	}
	if fault != nil {
		a.out.printf("%s %v\n", a.out.paint(red, "stopped:"), fault)
	}
	return exit(report.Outcome())
}

// printMove prints a line for a message and one for its reasoning.
func (a *app) printMove(s session.Session, m move) {
	who := string(s.Role(m.From))
	if who == "" {
		who = string(m.From)
	}
	a.printLine(who, m)
}

func (a *app) printLine(who string, m move) {
	a.out.printf("  %s  %-10s %-16s %s\n", m.Time[11:], cli.Printable(who), a.out.paint(bold, m.Type.Short()), describe(m.Type, m.Body))
	if m.Says != "" {
		a.out.printf("  %21s %q\n", "", cut(m.Says, 300))
	}
}

// describe says in one line what a body is about.
func describe(t wire.MessageType, body wire.Value) string {
	part := func(name string) wire.Value { v, _ := body.Get(name); return v }
	text := ""
	switch {
	case t == wire.TypeOpen:
		var terms []string
		for id := range part("terms").Members() {
			terms = append(terms, cli.Printable(id))
		}
		text = "about " + strings.Join(terms, ", ")
	case part("conditions").Kind() == wire.Array:
		var branches []string
		for _, c := range part("conditions").Elems() {
			condition, _ := c.Get("if")
			then, _ := c.Get("then")
			branches = append(branches, termsText(condition)+" → "+termsText(then))
		}
		text = strings.Join(branches, "; ")
	case part("bundles").Kind() == wire.Array:
		var branches []string
		for _, b := range part("bundles").Elems() {
			id, _ := b.Get("bundle_id")
			terms, _ := b.Get("terms")
			branches = append(branches, cli.Printable(id.Text())+": "+termsText(terms))
		}
		text = strings.Join(branches, "; ")
	case part("terms").Kind() == wire.Object:
		text = termsText(part("terms"))
	case part("accepted_terms").Kind() == wire.Object:
		text = termsText(part("accepted_terms"))
	case t == wire.TypeAccept || t == wire.TypeAcceptSession || t == wire.TypeCommit:
	default:
		text = cli.Printable(body.Canonical())
	}
	return cut(text, 300)
}

// termsText prints terms as "price 2050 USD, delivery shipping".
func termsText(terms wire.Value) string {
	var list []string
	for id, object := range terms.Members() {
		list = append(list, cli.Printable(id)+" "+termText(object))
	}
	return strings.Join(list, ", ")
}

// termText prints a term, {"value": …} or just the value, as "2050 USD".
func termText(object wire.Value) string {
	value, ok := object.Get("value")
	if !ok {
		value = object
	}
	text := cli.Printable(value.Canonical())
	if value.Kind() == wire.String {
		text = cli.Printable(value.Text())
	}
	if currency, ok := object.Get("currency"); ok {
		text += " " + cli.Printable(currency.Text())
	}
	return text
}

func (a *app) printDeal(s session.Session) {
	if s.Deal() == nil {
		return
	}
	a.out.printf("%s\n", a.out.paint(bold, "agreed"))
	var rows [][]string
	for id, object := range s.Deal().Value().Members() {
		rows = append(rows, []string{cli.Printable(id), termText(object)})
	}
	a.out.table(rows)
}

func dealValue(s session.Session) any {
	if s.Deal() == nil {
		return nil
	}
	return s.Deal().Value()
}

// cut shortens text from outside to n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
