package node_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A reference is a party that the Python reference implementation plays: its Agent makes
// and signs the messages, its Session and its verifiers judge those of the node. What is
// in Go carries them to the relay, in strict turns, and encloses receipts.
type reference struct {
	*relay.Client
	w       *world
	agent   wire.AgentID
	key     wire.PrivateKey
	peer    string // whom it deals with
	keys    wire.KeyMap
	in      io.Writer
	out     *bufio.Reader
	came    chan relay.Delivery // of others
	changed chan relay.SessionInfo
	n       int
}

// reference starts the reference implementation for as long as the test runs.
func (w *world) reference(name, peer string) *reference {
	w.Helper()
	clone := os.Getenv("CONCORDIA_REFERENCE")
	if clone == "" {
		w.Skip("no reference implementation here; CONCORDIA_REFERENCE may name a clone of it")
	}
	if out, err := exec.Command("python3", "-c", "import cryptography, jsonschema").CombinedOutput(); err != nil {
		w.Skipf("no Python with what the reference needs: %v\n%s", err, out)
	}
	r := &reference{
		w: w, agent: wire.AgentID("agent_" + name), key: key(name), peer: peer,
		came: make(chan relay.Delivery, 100), changed: make(chan relay.SessionInfo, 100),
	}
	r.keys = wire.KeyMap{r.agent: r.key.Public(), agent(peer): key(peer).Public()}
	ctx, cancel := context.WithCancel(w.ctx)
	program := exec.CommandContext(ctx, "python3", filepath.Join("..", "examples", "interop", "reference_peer.py"), string(r.agent), hex.EncodeToString(r.key.Seed()))
	program.Env = append(os.Environ(), "PYTHONPATH="+clone, "PYTHONDONTWRITEBYTECODE=1")
	program.Stderr = w.logs
	in := must[io.WriteCloser](w)(program.StdinPipe())
	out := must[io.ReadCloser](w)(program.StdoutPipe())
	w.must(program.Start())
	r.in, r.out = in, bufio.NewReader(out)
	r.Client = must[*relay.Client](w)(relay.NewClient(relay.ClientOptions{
		URL: w.url, Agent: r.agent, Signer: r.key, Keys: r.keys, Now: w.now,
		Handle: func(ctx context.Context, d relay.Delivery) error {
			if d.Own {
				return nil
			}
			return put(ctx, r.came, d)
		},
		Changed: func(ctx context.Context, i relay.SessionInfo) { _ = put(ctx, r.changed, i) },
	}))
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	w.Cleanup(func() {
		_ = in.Close() // then it ends
		if err := program.Wait(); err != nil {
			w.Errorf("the reference: %v\n%s", err, w.logs)
		}
		cancel()
		<-ran
	})
	return r
}

func put[T any](ctx context.Context, c chan<- T, x T) error {
	select {
	case c <- x:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func take[T any](w *world, c <-chan T) (x T) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	select {
	case x = <-c:
	case <-ctx.Done():
		w.Fatalf("nothing came\n%s", w.logs)
	}
	return x
}

// try has the reference do something and returns its answer, which may be an error.
func (r *reference) try(do string, with wire.M) wire.Value {
	r.w.Helper()
	command := wire.M{"do": do}
	for k, v := range with {
		command[k] = v
	}
	_, err := io.WriteString(r.in, encoded(command).Canonical()+"\n")
	r.w.must(err)
	line, err := r.out.ReadString('\n')
	if err != nil {
		r.w.Fatalf("%s: the reference says nothing: %v\n%s", do, err, r.w.logs)
	}
	return parsed(line)
}

func (r *reference) ask(do string, with wire.M) wire.Value {
	r.w.Helper()
	answer := r.try(do, with)
	if e, failed := answer.Get("error"); failed {
		r.w.Fatalf("%s: the reference raises %s: %s", do, e.Text(), member(answer, "why").Text())
	}
	return answer
}

func member(v wire.Value, path ...string) wire.Value {
	x, _ := v.At(path...)
	return x
}

// hear has the reference verify and apply the next message of the node.
func (r *reference) hear() {
	r.w.Helper()
	d := take(r.w, r.came)
	if d.Err != nil || d.Message == nil {
		r.w.Fatalf("entry %d is no message: %v", d.Number, d.Err)
	}
	answer := r.ask("hear", wire.M{"message": d.Message.Value()})
	if !member(answer, "verified").Bool() || member(answer, "errors").Len() > 0 || !member(answer, "chained").Bool() ||
		member(answer, "tip").Text() != d.Message.Hash().String() {
		r.w.Fatalf("%s: the reference answers %s", d.Message.Type, answer)
	}
}

// sign has the reference sign and apply a message of its own.
func (r *reference) sign(move string, how wire.M) wire.Value {
	r.w.Helper()
	with := wire.M{"move": move}
	for k, v := range how {
		with[k] = v
	}
	return r.ask("say", with)
}

// append appends what it signed.
func (r *reference) append(signed wire.Value) (*wire.Message, error) {
	r.w.Helper()
	m := must[*wire.Message](r.w)(must[*wire.UnverifiedMessage](r.w)(wire.ReadMessage(member(signed, "message"))).Verify(r.keys))
	_, err := r.Append(r.w.ctx, m)
	return m, err
}

// say signs and appends, whatever the node makes of it.
func (r *reference) say(move string, how wire.M) *wire.Message {
	r.w.Helper()
	return must[*wire.Message](r.w)(r.append(r.sign(move, how)))
}

// play says what has to count at the node, whose chain then ends as that of the reference.
func (r *reference) play(p *party, id wire.SessionID, move string, how wire.M) node.View {
	r.w.Helper()
	signed := r.sign(move, how)
	_, err := r.append(signed)
	r.w.must(err)
	n, _ := member(signed, "messages").Int()
	v := p.has(id, int(n))
	if v.Ending != nil && v.Ending.Breach != "" || v.Tip.String() != member(signed, "tip").Text() {
		r.w.Fatalf("%s: the node has %+v", move, v)
	}
	return v
}

// answer makes a move of the node and has the reference hear it.
func (r *reference) answer(p *party, id wire.SessionID, t wire.MessageType, body wire.Value) {
	r.w.Helper()
	p.move(id, t, body)
	r.hear()
}

func terms(price any) wire.M {
	return wire.M{"terms": wire.M{"price": wire.M{"value": price, "currency": "EUR"}, "lens": wire.M{"value": "50mm"}}}
}

// knows has the node know the reference by its key, and what it runs or not.
func (p *party) knows(r *reference, reference bool) {
	p.w.Helper()
	p.w.must(p.SetContact(p.w.ctx, node.Contact{Agent: r.agent, Keys: []node.ContactKey{{Key: r.key.Public().String()}}, Reference: reference}))
}

// responds opens a session at the node, in which the reference responds.
func (r *reference) responds(p *party) wire.SessionID {
	r.w.Helper()
	id := must[node.View](r.w)(p.Open(r.w.ctx, node.Opening{To: []wire.AgentID{r.agent}, Body: camera(nil), Reasoning: "for sale"})).Session
	must[relay.SessionInfo](r.w)(r.Join(r.w.ctx, id))
	r.ask("join", wire.M{"session": id, "peer": agent(r.peer), "key": key(r.peer).Public()})
	r.hear()
	r.play(p, id, "accept_session", nil)
	return id
}

// opens opens a session of the reference, which the node has joined and not accepted.
func (r *reference) opens(p *party) wire.SessionID {
	r.w.Helper()
	open := r.ask("open", wire.M{"peer": agent(r.peer), "key": key(r.peer).Public(), "terms": cameraTerms})
	id := wire.SessionID(member(open, "message", "session_id").Text())
	must[relay.SessionInfo](r.w)(r.Create(r.w.ctx, relay.Reservation{Session: id, To: []wire.AgentID{agent(r.peer)}}))
	p.invitation(id)
	joined := make(chan error, 1)
	go func() { _, err := p.Join(r.w.ctx, id); joined <- err }()
	for take(r.w, r.changed).Parties[1].Standing != relay.Joined {
	}
	must[*wire.Message](r.w)(r.append(open))
	r.w.must(<-joined)
	return id
}

// enclosed waits for the next receipt that the node encloses.
func (r *reference) enclosed() wire.Value {
	r.w.Helper()
	d := take(r.w, r.came)
	if d.Err != nil || d.Enclosure == nil || d.Enclosure.Kind != relay.KindReceipt {
		r.w.Fatalf("entry %d is no receipt: %v", d.Number, d.Err)
	}
	return d.Enclosure.Content
}

// enclose encloses a receipt of the reference.
func (r *reference) enclose(id wire.SessionID, receipt wire.Value) {
	r.w.Helper()
	r.n++
	e := relay.Enclosure{ID: wire.MessageID("enc_" + strings.Repeat("e", r.n)), Session: id, From: r.agent, Time: r.w.now(), Kind: relay.KindReceipt, Content: receipt}
	must[relay.Appended](r.w)(r.Enclose(r.w.ctx, must[*relay.Enclosure](r.w)(e.Sign(r.key))))
}

// countersign has the reference check and sign the receipt that the node has signed. It
// returns that, and where it differs from what the reference itself makes of the session,
// but for the times, which differ when a second ends in between.
func (r *reference) countersign(receipt wire.Value) (signed wire.Value, differ []string) {
	r.w.Helper()
	answer := r.ask("countersign", wire.M{"proposal": receipt})
	if by := member(answer, "signed"); by.Canonical() != encoded([]wire.AgentID{agent(r.peer)}).Canonical() {
		r.w.Fatalf("the reference finds signatures of %s", by)
	}
	for _, at := range member(answer, "differ").Elems() {
		if !strings.Contains(at.Text(), "time") && !strings.HasPrefix(at.Text(), "/validity_temporal") && at.Text() != "/outcome/duration_seconds" {
			differ = append(differ, at.Text())
		}
	}
	return member(answer, "receipt"), differ
}

// agreesOn has both sides judge the receipt that all have signed.
func (r *reference) agreesOn(p *party, id wire.SessionID, receipt wire.Value) {
	r.w.Helper()
	p.settled(id)
	if kept := must[[]wire.Value](r.w)(p.Receipts(r.w.ctx, id)); len(kept) != 1 || !kept[0].Equal(receipt) {
		r.w.Fatalf("the node keeps %v, the reference has %s", kept, receipt)
	}
	want := encoded(wire.M{"errors": []string{}, "binding": "bound", "outcome": "bound", "outcome_error": nil, "now": true})
	if got := r.ask("verify", wire.M{"receipt": receipt}); !got.Equal(want) {
		r.w.Errorf("the reference judges the receipt: %s", got)
	}
	d := must[session.Document](r.w)(session.ReadDocument(must[wire.Value](r.w)(p.Document(r.w.ctx, id))))
	if _, report := d.Check(id, p, r.w.now(), nil, nil); report.Err() != nil {
		r.w.Errorf("the transcript does not verify: %v", report.Err())
	}
}

// The node sells to the reference, which checks and countersigns its receipt.
func TestReferenceResponds(t *testing.T) {
	w := newWorld(t)
	r, p := w.reference("buyer", "seller"), w.party("seller", nil)
	p.knows(r, true)
	id := r.responds(p)
	r.answer(p, id, wire.TypeOffer, price(900))
	r.play(p, id, "counter", terms(700))
	r.answer(p, id, wire.TypeCounter, price(850))
	r.play(p, id, "signal", wire.M{"term": "lens"})
	r.answer(p, id, wire.TypeInquire, encoded(wire.M{"term_ids": []string{"price"}}))
	counter := terms(762.5)
	counter["reasoning"] = "½ way, nearly"
	r.play(p, id, "counter", counter)
	r.answer(p, id, wire.TypeCounter, price(800))
	if v := r.play(p, id, "accept", nil); v.State != session.Agreed || v.Len != 10 {
		t.Fatalf("view %+v", v)
	}
	receipt, differ := r.countersign(r.enclosed())
	r.enclose(id, receipt)
	r.agreesOn(p, id, receipt)
	want := []string{"/attestation_id", "/meta/category", "/parties/0/behavior/concession_magnitude", "/parties/1/behavior/concession_magnitude", "/summary"}
	if diff := cmp.Diff(want, differ); diff != "" {
		t.Errorf("the receipt of the reference differs elsewhere:\n%s", diff)
	}
	if p.count(node.ReceiptDiffers) > 0 {
		t.Error("a receipt is said to differ")
	}
}

// The reference sells to the node, which signs the receipt of the reference as it is: it
// says in its own words what the transcript does not. If the node was not told what its
// contact runs, or if a figure is none of the format, it signs nothing.
func TestReferenceOpens(t *testing.T) {
	for _, test := range []struct {
		name      string
		reference bool
		first     any    // price of the reference
		end       string // move of the reference, or else the node accepts
		state     protocol.State
		status    string // in the receipt
		signs     bool
	}{
		{"the node accepts", true, 950.25, "", session.Agreed, "agreed", true},
		{"the reference accepts", true, 900, "accept", session.Agreed, "agreed", true},
		{"the reference rejects", true, 900, "reject", session.Rejected, "rejected", true},
		{"the reference withdraws", true, 900, "withdraw", session.Rejected, "rejected", true},
		{"a contact like any", false, 900, "", session.Agreed, "agreed", false},
		{"a concession of more than all", true, 400, "", session.Agreed, "agreed", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			r, p := w.reference("seller", "buyer"), w.party("buyer", nil)
			p.knows(r, test.reference)
			id := r.opens(p)
			r.answer(p, id, wire.TypeAcceptSession, wire.Value{})
			r.play(p, id, "offer", terms(test.first))
			r.answer(p, id, wire.TypeCounter, price(700))
			r.play(p, id, "counter", terms(850))
			if test.end == "" {
				r.answer(p, id, wire.TypeAccept, wire.Value{})
			} else {
				r.answer(p, id, wire.TypeCounter, price(800))
				r.play(p, id, test.end, nil)
			}
			p.in(id, test.state)
			issued := member(r.ask("receipt", nil), "receipt")
			if got := member(issued, "outcome", "status").Text(); got != test.status {
				t.Errorf("the reference says %s", got)
			}
			r.enclose(id, issued)
			n := p.sees(node.ReceiptDiffers)
			if n.Agent != r.agent {
				t.Errorf("notice %+v", n)
			}
			if !test.signs {
				r.enclose(id, issued) // so that something comes next, and it is not the node's signature
				if next := must[[]node.Notice](w)(p.Notices(w.ctx, n.Number, 1)); next[0].Kind != node.ReceiptDiffers || next[0].Agent != r.agent {
					t.Errorf("notice %+v", next[0])
				}
				return
			}
			receipt, differ := r.countersign(r.enclosed())
			if len(differ) > 0 {
				t.Errorf("the node changed %v in the receipt of the reference", differ)
			}
			r.agreesOn(p, id, receipt)
		})
	}
}

// The reference takes a commit for the agreement and nothing after it; here it asks the
// offerer to commit as well (SPEC §5.2). After that both say AGREED, of two transcripts,
// and there is no receipt that both could sign.
func TestReferenceCommits(t *testing.T) {
	w := newWorld(t)
	r, p := w.reference("buyer", "seller"), w.party("seller", nil)
	p.knows(r, true)
	id := r.responds(p)
	r.answer(p, id, wire.TypeOffer, price(900))
	commit := r.sign("commit", nil)
	_, err := r.append(commit)
	w.must(err)
	if v := p.has(id, 4); v.State != session.Active || member(commit, "state").Text() != "agreed" {
		t.Errorf("the session is %s, with the reference %s", v.State, member(commit, "state"))
	}
	if v := p.move(id, wire.TypeCommit, wire.Value{}); v.State != session.Agreed {
		t.Errorf("view %+v", v)
	}
	if answer := r.try("hear", wire.M{"message": take(w, r.came).Message.Value()}); member(answer, "error").Text() != "InvalidTransitionError" {
		t.Errorf("the reference hears the second commit: %s", answer)
	}
	if answer := r.ask("verify", wire.M{"receipt": r.enclosed()}); member(answer, "binding").Text() != "error" {
		t.Errorf("the reference finds its transcript in the receipt: %s", answer)
	}
}

// What the reference lets itself do and the rules do not: the node ends the session, names
// the rule, and keeps the message.
func TestReferenceBreaks(t *testing.T) {
	type step func(r *reference, p *party, id wire.SessionID) wire.M
	for _, test := range []struct {
		name   string
		opens  bool
		before step // returns how the move is made
		move   string
		rule   string
	}{
		{"accepts its own session", true, nil, "accept_session", "role"},
		{"accepts what nobody offered", false, nil, "accept", "no-offer"},
		{"accepts its own offer", false, func(r *reference, p *party, id wire.SessionID) wire.M {
			r.answer(p, id, wire.TypeOffer, price(900))
			r.play(p, id, "counter", terms(700))
			return nil
		}, "accept", "own-offer"},
		{"accepts a replaced offer", false, func(r *reference, p *party, id wire.SessionID) wire.M {
			r.answer(p, id, wire.TypeOffer, price(900).With("offer_id", wire.Text("first")))
			r.play(p, id, "counter", terms(700))
			r.answer(p, id, wire.TypeCounter, price(800))
			return wire.M{"offer_id": "first"}
		}, "accept", "superseded"},
		{"offers beyond its own constraint", false, func(r *reference, p *party, id wire.SessionID) wire.M {
			r.play(p, id, "constrain", wire.M{"constraints": wire.M{"price": wire.M{"max": 500}}})
			return terms(700)
		}, "offer", "constraint"},
		{"calls an offer complete that has no price", false, func(*reference, *party, wire.SessionID) wire.M {
			return wire.M{"terms": wire.M{"lens": wire.M{"value": "50mm"}}}
		}, "offer", "offer-complete"},
		{"resolves as a party", false, func(*reference, *party, wire.SessionID) wire.M {
			return wire.M{"proposed_terms": terms(700)["terms"]}
		}, "resolve", "role"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			r, p := w.reference("other", "own"), w.party("own", nil)
			p.knows(r, true)
			begin := r.responds
			if test.opens {
				begin = r.opens
			}
			id := begin(p)
			var how wire.M
			if test.before != nil {
				how = test.before(r, p, id)
			}
			evidence := r.say(test.move, how)
			v := p.in(id, session.Rejected)
			if v.Ending == nil || v.Ending.Breach != test.rule || v.Ending.By != r.agent {
				t.Errorf("ending %+v, want breach of %s", v.Ending, test.rule)
			}
			d := must[session.Document](w)(session.ReadDocument(must[wire.Value](w)(p.Document(w.ctx, id))))
			if !d.Evidence.Equal(evidence.Value()) {
				t.Error("the evidence is not kept")
			}
		})
	}
}

// What the reference signs before it has heard everything has no place in the log, and its
// Session, which cannot take that back, hears nothing more. So turns are strict.
func TestReferenceOutOfTurn(t *testing.T) {
	w := newWorld(t)
	r, p := w.reference("buyer", "seller"), w.party("seller", nil)
	p.knows(r, true)
	id := r.responds(p)
	v := p.move(id, wire.TypeOffer, price(900))
	if _, err := r.append(r.sign("signal", wire.M{"term": "lens"})); relay.CodeOf(err) != relay.CodeChainConflict {
		t.Errorf("the relay says %v", err)
	}
	if answer := r.try("hear", wire.M{"message": take(w, r.came).Message.Value()}); member(answer, "error").Text() != "ChainIntegrityError" {
		t.Errorf("the reference hears the offer: %s", answer)
	}
	if now := must[node.View](w)(p.Session(w.ctx, id)); now.Version != v.Version {
		t.Errorf("the node has %+v", now)
	}
}

// Toward a contact with the reference implementation the node speaks once and waits, but
// to leave, and does not commit first.
func TestStrictTurns(t *testing.T) {
	w := newWorld(t)
	p, b := w.party("seller", nil), w.bare("buyer")
	id := w.against(p, b)
	refused := func(m wire.MessageType, body wire.Value) {
		t.Helper()
		if _, err := p.Move(w.ctx, node.Move{Session: id, Type: m, Body: body}); code(err) != node.CodePolicy {
			t.Errorf("%s: %v", m, err)
		}
	}
	p.move(id, wire.TypeOffer, price(9))
	p.move(id, wire.TypeCounter, price(8)) // toward anybody else
	w.must(p.SetContact(w.ctx, node.Contact{Agent: agent("buyer"), Reference: true}))
	refused(wire.TypeCounter, price(7))
	refused(wire.TypeInquire, encoded(wire.M{"term_ids": []string{"price"}}))
	b.say(id, wire.TypeCounter, price(5).With("offer_id", wire.Text("o1")))
	p.has(id, 5)
	refused(wire.TypeCommit, wire.Value{})
	p.move(id, wire.TypeCounter, price(6))
	b.say(id, wire.TypeCommit, parsed("{}"))
	p.has(id, 7)
	p.move(id, wire.TypeCommit, wire.Value{}) // or there is no agreement
	p.in(id, session.Agreed)

	id = w.against(p, b)
	p.move(id, wire.TypeOffer, price(9))
	p.move(id, wire.TypeWithdraw, wire.Value{})
	p.in(id, session.Rejected)
}
