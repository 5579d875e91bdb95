package node_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A bare peer speaks RFC 0001 and signs what a test wants.
type bare struct {
	*relay.Client
	w    *world
	name string
	n    int
}

func (w *world) bare(name string) *bare {
	w.Helper()
	c := must[*relay.Client](w)(relay.NewClient(relay.ClientOptions{URL: w.url, Agent: agent(name), Signer: key(name), Keys: wire.DIDKeys{}, Now: w.now}))
	return &bare{Client: c, w: w, name: name}
}

// say appends a message at the end of the log, whatever the session's rules say.
func (b *bare) say(id wire.SessionID, t wire.MessageType, body wire.Value) *wire.Message {
	b.w.Helper()
	log := must[*relay.Transcript](b.w)(b.Transcript(b.w.ctx, id))
	b.n++
	e := wire.Envelope{
		Type: t, ID: wire.MessageID(b.name + strings.Repeat("x", b.n)), Session: id, Time: b.w.now(), From: agent(b.name), Body: body, Reasoning: "because",
	}
	if n := len(log.Messages); n > 0 {
		e.PrevHash = log.Messages[n-1].Hash()
	}
	m := must[*wire.Message](b.w)(wire.Sign(e, key(b.name)))
	must[relay.Appended](b.w)(b.Append(b.w.ctx, m))
	return m
}

// enclose encloses something as a party.
func (b *bare) enclose(id wire.SessionID, kind string, content wire.Value) {
	b.w.Helper()
	b.n++
	e := relay.Enclosure{ID: wire.MessageID(b.name + strings.Repeat("e", b.n)), Session: id, From: agent(b.name), Time: b.w.now(), Kind: kind, Content: content}
	must[relay.Appended](b.w)(b.Enclose(b.w.ctx, must[*relay.Enclosure](b.w)(e.Sign(key(b.name)))))
}

// against opens a session between a node and a bare peer that has accepted it.
func (w *world) against(p *party, b *bare) wire.SessionID {
	w.Helper()
	v := must[node.View](w)(p.Open(w.ctx, node.Opening{To: []wire.AgentID{agent(b.name)}, Body: camera(nil)}))
	must[relay.SessionInfo](w)(b.Join(w.ctx, v.Session))
	p.has(v.Session, 1)
	b.say(v.Session, wire.TypeAcceptSession, parsed("{}"))
	p.in(v.Session, session.Active)
	return v.Session
}

// A message that the relay admitted and that breaks a rule ends the session, names its
// sender and is kept; what follows does not count, after a restart either.
func TestBreach(t *testing.T) {
	w := newWorld(t)
	p, b := w.party("seller", nil), w.bare("buyer")
	id := w.against(p, b)
	evidence := b.say(id, wire.TypeAccept, parsed("{}")) // there is no offer
	v := p.in(id, session.Rejected)
	b.say(id, wire.TypeOffer, price(1))
	p.reach(id, "what follows", func(now node.View) bool { return now.Version > v.Version })
	for range 2 {
		v = must[node.View](w)(p.Session(w.ctx, id))
		if v.State != session.Rejected || v.Len != 2 || v.Ending == nil || v.Ending.Breach != "no-offer" || v.Ending.By != agent("buyer") || len(v.Moves) != 0 {
			t.Errorf("view %+v, ending %+v", v, v.Ending)
		}
		d := must[session.Document](w)(session.ReadDocument(must[wire.Value](w)(p.Document(w.ctx, id))))
		if !d.Evidence.Equal(evidence.Value()) {
			t.Error("the evidence is not kept")
		}
		if _, err := p.Move(w.ctx, node.Move{Session: id, Type: wire.TypeWithdraw}); code(err) != node.CodeEnded {
			t.Errorf("a move: %v", err)
		}
		p.restart()
	}
}

// Nobody's turn is in a session that its relay takes nothing more for.
func TestClosedAtRelay(t *testing.T) {
	w := newWorld(t)
	p, b := w.party("seller", nil), w.bare("buyer")
	id := w.against(p, b)
	b.say(id, wire.TypeOffer, price(1).With("offer_id", wire.Text("off_1")))
	if v := p.has(id, 3); !v.Turn {
		t.Errorf("view %+v", v)
	}
	w.must(b.Close(w.ctx, id))
	if _, err := p.Move(w.ctx, node.Move{Session: id, Type: wire.TypeAccept}); code(err) != node.CodeEnded {
		t.Errorf("a move: %v", err)
	}
	if v := must[node.View](w)(p.Session(w.ctx, id)); v.Turn || len(v.Moves) != 0 || v.State != session.Active {
		t.Errorf("view %+v", v)
	}
}

// Who was invited cannot open the session in the place of who invited.
func TestImpostor(t *testing.T) {
	w := newWorld(t)
	p, b := w.party("seller", nil), w.bare("buyer")
	var id wire.SessionID
	node.BeforeSending(p.Node, func() { // between signing and sending
		b.say(id, wire.TypeOpen, camera(nil))
	})
	id = must[node.View](w)(p.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Body: camera(nil)})).Session
	must[relay.SessionInfo](w)(b.Join(w.ctx, id))
	n := p.sees(node.MessageLate)
	if v := must[node.View](w)(p.Session(w.ctx, id)); v.Len != 0 || v.State != session.Start || n.Agent != agent("buyer") {
		t.Errorf("view %+v", v)
	}
}

// A commit behind the proposal of the receipt does not count, whoever sends it.
func TestCommitAfterReceipt(t *testing.T) {
	w := newWorld(t)
	p, b := w.party("seller", nil), w.bare("buyer")
	id := w.against(p, b)
	p.move(id, wire.TypeOffer, price(9))
	b.say(id, wire.TypeAccept, parsed("{}"))
	p.in(id, session.Agreed)
	for i := 0; ; i++ { // until the receipt is proposed
		if log := must[*relay.Transcript](w)(b.Transcript(w.ctx, id)); len(log.Enclosures) > 0 {
			break
		}
	}
	b.say(id, wire.TypeCommit, parsed("{}"))
	p.sees(node.MessageLate)
	if v := must[node.View](w)(p.Session(w.ctx, id)); v.Len != 4 || v.State != session.Agreed {
		t.Errorf("view %+v", v)
	}
	if _, err := p.Move(w.ctx, node.Move{Session: id, Type: wire.TypeCommit}); code(err) != node.CodeEnded {
		t.Errorf("an own commit: %v", err)
	}
}

// A receipt that is not the one of the transcript is not signed, and one that is signed
// wrongly does not pass for complete.
func TestOtherReceipt(t *testing.T) {
	w := newWorld(t)
	p, b := w.party("seller", nil), w.bare("buyer")
	id := w.against(p, b)
	p.move(id, wire.TypeOffer, price(9))
	b.say(id, wire.TypeAccept, parsed("{}"))
	var proposal wire.Value
	for proposal.Kind() == wire.Absent {
		for _, e := range must[*relay.Transcript](w)(b.Transcript(w.ctx, id)).Enclosures {
			proposal = e.Content
		}
	}
	other := parsed(strings.Replace(proposal.Canonical(), `"rounds":1`, `"rounds":2`, 1))
	b.enclose(id, relay.KindReceipt, must[wire.Value](w)(attest.Countersign(other, agent("buyer"), key("buyer"))))
	if n := p.sees(node.ReceiptDiffers); n.Agent != agent("buyer") {
		t.Errorf("notice %+v", n)
	}
	signed := must[wire.Value](w)(attest.Countersign(proposal, agent("buyer"), key("buyer")))
	s, _ := attest.SignatureOf(signed, agent("buyer"))
	forged := attest.WithSignature(signed, agent("buyer"), attest.PartySignature{Record: s.Whole, Whole: s.Record})
	b.enclose(id, relay.KindReceipt, forged)
	for p.count(node.ReceiptDiffers) < 2 {
		p.sees(node.ReceiptDiffers)
	}
	if v := must[node.View](w)(p.Session(w.ctx, id)); v.Receipt != node.ReceiptPending {
		t.Errorf("receipt %s", v.Receipt)
	}
	b.enclose(id, relay.KindReceipt, signed)
	p.settled(id)
}

// A party that signs wrongly does not undo what the others have signed, and its receipts
// that are none do not push other notices out.
func TestReceiptOfThree(t *testing.T) {
	w := newWorld(t)
	p, b, c := w.party("seller", nil), w.bare("buyer"), w.bare("third")
	id := must[node.View](w)(p.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer"), agent("third")}, Body: camera(nil)})).Session
	for i, x := range []*bare{b, c} {
		must[relay.SessionInfo](w)(x.Join(w.ctx, id))
		p.has(id, 1+i)
		x.say(id, wire.TypeAcceptSession, parsed("{}"))
	}
	p.in(id, session.Active)
	b.say(id, wire.TypeReject, parsed("{}"))
	p.in(id, session.Rejected)
	var proposal wire.Value
	for proposal.Kind() == wire.Absent {
		for _, e := range must[*relay.Transcript](w)(b.Transcript(w.ctx, id)).Enclosures {
			proposal = e.Content
		}
	}
	signed := func(name string) wire.Value {
		t.Helper()
		return must[wire.Value](w)(attest.Countersign(proposal, agent(name), key(name)))
	}
	s, _ := attest.SignatureOf(signed("buyer"), agent("buyer"))
	for range 10 {
		b.enclose(id, relay.KindReceipt, attest.WithSignature(proposal, agent("buyer"), attest.PartySignature{Record: s.Whole, Whole: s.Record}))
	}
	c.enclose(id, relay.KindReceipt, signed("third"))
	b.enclose(id, relay.KindReceipt, attest.WithSignature(proposal, agent("buyer"), attest.PartySignature{Record: s.Record, Whole: s.Record}))
	b.enclose(id, relay.KindReceipt, signed("buyer"))
	p.settled(id)
	if n := p.sees(node.ReceiptDiffers); n.Agent != agent("buyer") {
		t.Errorf("notice %+v", n)
	}
	if n := p.count(node.ReceiptDiffers); n == 0 || n > 4 {
		t.Errorf("%d notices of receipts that differ", n)
	}
}

// What a party presents is kept up to a bound.
func TestPresentedBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and nothing of it happens at once")
	}
	w := newWorld(t)
	p, b := w.party("seller", nil), w.bare("buyer")
	id := w.against(p, b)
	at := must[node.View](w)(p.Session(w.ctx, id)).Version
	const shown = 110
	for range shown {
		b.enclose(id, relay.KindApproval, must[wire.Value](w)(w.issuer("buyer").Approval(encoded(wire.M{
			"session_id": id, "scope": wire.M{"decision": "approve", "offer_hash": wire.HashOf("x"), "amount": "none", "threshold_crossed": "none"},
		}))))
	}
	p.reach(id, "all", func(v node.View) bool { return v.Version >= at+shown })
	if n := node.Approvals(p.Node, id); n != 100 {
		t.Errorf("%d artifacts are kept", n)
	}
}

// The receipt of a contact that runs the reference implementation may say more of its own,
// and nothing else than the transcript.
func TestReferenceReceipt(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		contact        bool
		signed         bool
	}{
		{"its own figures", `"duration_seconds":`, `"duration_seconds":1`, true, true},
		{"of another who says so", `"duration_seconds":`, `"duration_seconds":1`, false, false},
		{"another outcome", `"rounds":1`, `"rounds":2`, true, false},
	} {
		w := newWorld(t)
		p, b := w.party("buyer", nil), w.bare("seller")
		w.must(p.SetContact(w.ctx, node.Contact{Agent: agent("seller"), Reference: test.contact}))
		must[relay.SessionInfo](w)(b.Create(w.ctx, relay.Reservation{Session: "ses_1", To: []wire.AgentID{agent("buyer")}}))
		p.invitation("ses_1")
		joined := make(chan error, 1)
		go func() { _, err := p.Join(w.ctx, "ses_1"); joined <- err }()
		for i := must[relay.SessionInfo](w)(b.Session(w.ctx, "ses_1")); i.Parties[1].Standing != relay.Joined; {
			i = must[relay.SessionInfo](w)(b.Session(w.ctx, "ses_1"))
		}
		b.say("ses_1", wire.TypeOpen, camera(nil))
		w.must(<-joined)
		p.move("ses_1", wire.TypeAcceptSession, wire.Value{})
		b.say("ses_1", wire.TypeOffer, price(5).With("offer_id", wire.Text("o1")))
		p.has("ses_1", 3)
		p.move("ses_1", wire.TypeAccept, wire.Value{})
		log := session.NewTranscript("ses_1", nil)
		for _, m := range must[*relay.Transcript](w)(b.Transcript(w.ctx, "ses_1")).Messages {
			w.must(log.Replay(m, w.now()))
		}
		draft := must[wire.Value](w)(must[attest.Draft](w)(log.Receipt(w.now())).Value())
		changed := strings.Replace(draft.Canonical(), test.old, test.new, 1)
		if changed == draft.Canonical() {
			t.Fatalf("%s: nothing to change", test.name)
		}
		b.enclose("ses_1", relay.KindReceipt, must[wire.Value](w)(attest.Countersign(parsed(changed), agent("seller"), key("seller"))))
		p.sees(node.ReceiptDiffers)
		if test.signed {
			p.settled("ses_1")
			if r := must[[]wire.Value](w)(p.Receipts(w.ctx, "ses_1")); len(r) != 1 || !attest.Countersigned(r[0]).Equal(parsed(changed)) {
				t.Errorf("%s: receipts %v", test.name, r)
			}
			w.same("ses_1", p)
		} else if v := must[node.View](w)(p.Session(w.ctx, "ses_1")); v.Receipt != node.ReceiptPending {
			t.Errorf("%s: the receipt is %s", test.name, v.Receipt)
		}
	}
}

// Nothing that is secret, or somebody's word, is in a log, at any level: no key, no token,
// no term, no reasoning. Errors do not have them either.
func TestLogsTellNothing(t *testing.T) {
	w := newWorld(t)
	seller, buyer, b := w.party("seller", nil), w.public("buyer", func(o *node.Options) { o.Relay = w.url }), w.bare("bare")
	const word, number = "mahogany", 48151623
	body := encoded(wire.M{"terms": wire.M{"price": wire.M{"type": "numeric"}, word: wire.M{}}, "category": "goods"})
	offer := encoded(wire.M{"terms": wire.M{"price": wire.M{"value": number}, word: wire.M{"value": word}}})
	id := w.begin(node.Opening{Body: body, Reasoning: word}, seller, buyer)
	must[node.View](w)(seller.Move(w.ctx, node.Move{Session: id, Type: wire.TypeOffer, Body: offer, Reasoning: word}))
	buyer.has(id, 3)
	for _, bad := range []node.Move{
		{Type: wire.TypeOffer, Body: encoded(wire.M{"terms": wire.M{"price": wire.M{"value": word}}})},
		{Type: wire.TypeAccept, Body: encoded(wire.M{"accepted_terms": wire.M{word: wire.M{"value": "no " + word}}})},
		{Type: wire.TypeConstrain, Body: encoded(wire.M{"constraints": wire.M{word: wire.M{"min": word}}})},
		{Type: wire.MessageType(word)},
	} {
		bad.Session, bad.Reasoning = id, word
		if _, err := buyer.Move(w.ctx, bad); err == nil || strings.Contains(strings.ReplaceAll(err.Error(), "/"+word, ""), word) {
			t.Errorf("%s: %v", bad.Type, err)
		}
	}
	must[node.View](w)(buyer.Move(w.ctx, node.Move{Session: id, Type: wire.TypeAccept, Reasoning: word}))
	seller.settled(id)
	other := w.against(seller, b)
	b.say(other, wire.TypeAccept, encoded(wire.M{"accepted_terms": wire.M{word: wire.M{"value": word}}}))
	seller.in(other, session.Rejected)
	b.enclose(other, relay.KindApproval, encoded(wire.M{"mandate_id": word}))
	seller.sees(node.MandateBroken)
	seller.restart()
	buyer.restart()
	seller.end()
	log := w.logs.String()
	if log == "" || !strings.Contains(log, "level=DEBUG") && !strings.Contains(log, "level=INFO") {
		t.Fatal("nothing is logged")
	}
	secrets := map[string]string{"a term's name, value or reasoning": word, "a price": "48151623"}
	for _, name := range []string{"seller", "buyer"} {
		seed := []byte(name + strings.Repeat(".", wire.SeedSize-len(name)))
		secrets["a key"] = base64.URLEncoding.EncodeToString(seed)
		secrets["a key in other words"] = string(seed)
	}
	for _, token := range tokens(t, seller.opts.Dir) {
		secrets["a token"] = token
	}
	for what, secret := range secrets {
		if secret == "" {
			t.Fatalf("%s is not known to the test", what)
		}
		if at := strings.Index(log, secret); at >= 0 {
			t.Errorf("the log has %s: %s", what, log[max(0, at-200):min(len(log), at+100)])
		}
	}
}

// tokens reads the tokens for relays from a closed node's directory.
func tokens(t *testing.T, dir string) (list []string) {
	t.Helper()
	path := filepath.Join(dir, "node.db")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("node.db has mode %v, %v", info.Mode(), err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("relays")).ForEach(func(_, text []byte) error {
			var memory struct {
				Token string `json:"token"`
			}
			err := json.Unmarshal(text, &memory)
			list = append(list, memory.Token)
			return err
		})
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("no tokens: %v", err)
	}
	return list
}
