package session_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Rewrite the golden transcripts only if you understand why each line changed.
var update = flag.Bool("update", false, "rewrite the want part of testdata/*.txtar")

// TestGolden plays the scripts in testdata. A script is a conversation, a move a
// line, and "want" is what became of each:
//
//	+10s seller offer {"offer_id": "o1", "terms": {…}}   a message ten seconds after the last move
//	+10s seller say offer {…}                            the same, with reasoning
//	+0s  seller open -> buyer, carrier {…}               a message with recipients
//	at +24h                                              the state after that time
//	deal | receipt | moves seller | ending | agreement   show more
//	breach seller offer {…}                              an admitted message that breaks a rule
//
// The first line may be "import" (read as the reference implementation writes) or
// "known seller=initiator buyer=responder" (the judge knows the parties).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %d scripts: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(archive.Files[0].Data))
			if *update {
				archive.Files = []txtar.File{archive.Files[0], {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(archive.Files[1].Data); got != want {
				t.Errorf("(-want +got)\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
			}
		})
	}
}

// A player performs a script.
type player struct {
	t        testing.TB
	clock    time.Time
	log      *session.Transcript
	msgs     []wire.Value
	evidence wire.Value
	keys     wire.KeyMap
	opts     session.Options
	out      strings.Builder
}

var epoch = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

func newPlayer(t testing.TB) *player {
	return &player{t: t, clock: epoch, keys: wire.KeyMap{}}
}

func play(t testing.TB, script string) string {
	p := newPlayer(t)
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			p.line(line)
		}
	}
	p.replayed()
	return p.out.String()
}

func (p *player) line(line string) {
	p.t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case word == "import":
		p.opts.Import = true
		return
	case word == "known":
		p.opts.Parties = map[wire.AgentID]protocol.Role{}
		for _, pair := range strings.Fields(rest) {
			id, role, _ := strings.Cut(pair, "=")
			p.opts.Parties[wire.AgentID(id)] = protocol.Role(role)
		}
		return
	}
	if p.log == nil {
		p.log = session.NewTranscript("ses_golden", &p.opts)
	}
	switch word {
	case "at":
		s := p.log.Session().At(p.clock.Add(p.duration(rest)))
		fmt.Fprintf(&p.out, "%-3s %s\n", "", s.State())
	case "deal":
		fmt.Fprintf(&p.out, "%-3s deal %s\n", "", p.log.Session().Deal().Value())
	case "moves":
		fmt.Fprintf(&p.out, "%-3s %s may %s\n", "", rest, short(p.log.Session().At(p.clock).Moves(wire.AgentID(rest))))
	case "receipt":
		p.receipt(rest)
	case "breach":
		p.breach(rest)
	case "ending":
		e := p.log.Session().Ending()
		fmt.Fprintf(&p.out, "%-3s ended by %s, %s: %q, returns after %s\n", "", e.By, e.Type.Short(), e.Reason, wire.FormatTime(e.Returns.After))
	case "agreement":
		a, err := p.log.Session().Agreement()
		if err != nil {
			p.t.Fatal(err)
		}
		v, err := a.Value()
		fmt.Fprintf(&p.out, "%-3s agreement %s %v\n", "", v, err)
	default:
		p.clock = p.clock.Add(p.duration(word))
		p.move(rest)
	}
}

func (p *player) duration(s string) time.Duration {
	d, err := time.ParseDuration(strings.TrimPrefix(s, "+"))
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// move sends a message and shows what became of it.
func (p *player) move(line string) {
	p.t.Helper()
	who, _, _ := strings.Cut(line, " ")
	m := p.message(line)
	before := p.log.Session()
	err := p.log.Admit(m, p.clock)
	s := p.log.Session()
	if err != nil {
		if s.Len() != before.Len() || s.State() != before.State() || s.Tip() != before.Tip() {
			p.t.Errorf("%s: refused, yet the session changed", line)
		}
		fmt.Fprintf(&p.out, "%-3s %s %s: refused, %s\n", "", who, m.Type.Short(), refusal(err))
		return
	}
	p.msgs = append(p.msgs, m.Value())
	live := "none"
	if o, by := s.Offer(); o != nil {
		live = fmt.Sprintf("%s by %s", o.ID, by)
	}
	fmt.Fprintf(&p.out, "%-3s %s %s: %s, round %d, offer %s\n", "#"+strconv.Itoa(s.Len()), who, m.Type.Short(), s.State(), s.Rounds(), live)
}

// message signs the message of a line without its time, to follow now.
func (p *player) message(line string) *wire.Message {
	p.t.Helper()
	who, rest, _ := strings.Cut(line, " ")
	head, text, hasBody := strings.Cut(rest, "{")
	e := p.envelope(who, head)
	if hasBody {
		body, err := wire.Parse([]byte("{"+text), wire.DocumentLimits)
		if err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		e.Body = body
	}
	m, err := wire.Sign(e, p.key(who))
	if err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	return m
}

func (p *player) envelope(who, head string) wire.Envelope {
	s := p.log.Session()
	e := wire.Envelope{
		ID: wire.MessageID("m" + strconv.Itoa(s.Len()+1)), Session: s.ID(), Time: p.clock,
		From: wire.AgentID(who), PrevHash: p.log.Tip(), Body: mustEncode(p.t, wire.M{}),
	}
	if to, ok := strings.CutPrefix(strings.TrimSpace(head), "say "); ok {
		head, e.Reasoning = to, "Because."
	}
	name, to, _ := strings.Cut(head, "->")
	e.Type = wire.MessageType("negotiate." + strings.TrimSpace(name))
	for _, id := range strings.FieldsFunc(to, func(r rune) bool { return r == ' ' || r == ',' }) {
		e.To = append(e.To, wire.AgentID(id))
	}
	return e
}

func (p *player) breach(line string) {
	m := p.message(line)
	if err := p.log.Breach(m, p.clock); err != nil {
		fmt.Fprintf(&p.out, "%-3s no breach: %v\n", "", err)
		return
	}
	b := p.log.Session().Breach()
	fmt.Fprintf(&p.out, "%-3s breach by %s of %s: %s\n", "", b.By, b.Rule.Name, p.log.Session().State())
	p.evidence = m.Value()
}

func refusal(err error) string {
	text := err.Error()
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		text = fmt.Sprintf("§%s %s at %q", v.Rule.Section, v.Rule.Name, v.At)
	}
	if r, ok := errors.AsType[*session.Refusal](err); ok {
		text += fmt.Sprintf("; in %s may %s", r.State, short(r.Moves))
	}
	return text
}

func short(moves []wire.MessageType) string {
	if len(moves) == 0 {
		return "nothing"
	}
	names := make([]string, len(moves))
	for i, m := range moves {
		names[i] = m.Short()
	}
	return strings.Join(names, " ")
}

// key returns the key whose seed is the name padded with dots, and makes it known.
func (p *player) key(name string) wire.PrivateKey {
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		p.t.Fatal(err)
	}
	p.keys[wire.AgentID(name)] = k.Public()
	return k
}

func mustEncode(t testing.TB, x any) wire.Value {
	t.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// receipt shows the draft that follows, indented.
func (p *player) receipt(after string) {
	now := p.clock
	if after != "" {
		now = now.Add(p.duration(after))
	}
	d, err := p.log.Receipt(now)
	if err != nil {
		fmt.Fprintf(&p.out, "%-3s receipt: %v\n", "", err)
		return
	}
	v, err := d.Value()
	if err != nil {
		p.t.Fatal(err)
	}
	fmt.Fprintf(&p.out, "%-3s receipt\n", "")
	for name, member := range v.Members() {
		fmt.Fprintf(&p.out, "    %s %s\n", name, member)
	}
}

// replayed checks that a replay from the bytes is the same as having been there.
func (p *player) replayed() {
	p.t.Helper()
	if len(p.msgs) == 0 {
		return
	}
	doc := session.Document{Messages: p.msgs, Evidence: p.evidence}
	again, report := doc.Check("ses_golden", p.keys, p.clock, &p.opts, nil)
	if err := report.Err(); err != nil {
		p.t.Errorf("replaying: %v", err)
		return
	}
	if again.Tip() != p.log.Tip() || again.Hash() != p.log.Hash() || again.Session().State() != p.log.Session().State() {
		p.t.Errorf("a replay ends in %s, the live session in %s", again.Session().State(), p.log.Session().State())
	}
}
