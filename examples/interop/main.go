// Command interop makes samples for other implementations to check: sessions, each a
// transcript with its receipt, and one artifact or more of every kind that this
// program issues. All are signed with published seeds, at published times, so that
// everybody can make the same bytes. See README.md here for how the Python and the
// JavaScript reference implementations check them.
//
//	go run ./examples/interop          write the samples
//	go run ./examples/interop -check   fail if they are not what would be written
//	go run ./examples/interop -vectors DIR   ask the public contract about them
//
//	main.go        the sessions
//	artifacts.go   what a sample of an artifact is
//	statements.go  artifacts in which an agent says something
//	receipts.go    artifacts that are made of receipts
//	chains.go      artifacts of chain sessions
//	contract.go    what the profiles of the public contract are asked about them
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A sample is a session as a list of moves.
type sample struct {
	name    string
	moves   []move
	expires time.Duration // after the last move, nobody ending it
}

// A move is one message, some seconds after the one before.
type move struct {
	after int
	from  string
	typ   wire.MessageType
	body  string
	says  string
}

const terms = `{"terms": {"price": {"type": "numeric", "label": "Price", "unit": "EUR"}, "place": {"type": "categorical", "label": "Place", "enum": ["here", "there"]}}, "timing": {"session_ttl": 3600, "offer_ttl": 600, "max_rounds": 8}, "category": "furniture.chairs", "value_range": "100-500_EUR"}`

var (
	opened   = move{0, "seller", wire.TypeOpen, terms, "Six chairs, one of them new."}
	accepted = move{9, "buyer", wire.TypeAcceptSession, `{}`, ""}
)

func offered(after int, from string, t wire.MessageType, id string, price float64, place string) move {
	return move{after, from, t, fmt.Sprintf(`{"offer_id": %q, "terms": {"price": {"value": %v, "currency": "EUR"}, "place": {"value": %q}}, "complete": true}`, id, price, place), ""}
}

var samples = []sample{
	{name: "agreed", moves: []move{opened, accepted,
		{8, "buyer", wire.TypeSignal, `{"priority_ranking": ["price", "place"], "flexibility": {"place": "very_flexible"}}`, ""},
		offered(11, "seller", wire.TypeOffer, "off_1", 400, "here"),
		offered(20, "buyer", wire.TypeCounter, "off_2", 312.5, "there"),
		offered(15, "seller", wire.TypeCounter, "off_3", 350, "there"),
		{7, "buyer", wire.TypeAccept, `{"offer_id": "off_3"}`, "Good."}}},
	{name: "conditional", moves: []move{opened, accepted,
		{10, "seller", wire.TypeOffer, `{"offer_id": "off_1", "conditions": [{"if": {"place": "here"}, "then": {"price": {"value": 300, "currency": "EUR"}}}, {"if": {"place": "there"}, "then": {"price": {"value": 340, "currency": "EUR"}}}], "complete": true}`, ""},
		{10, "buyer", wire.TypeAccept, `{"offer_id": "off_1", "accepted_terms": {"place": "there"}}`, ""}}},
	{name: "bundle", moves: []move{opened, accepted,
		{10, "seller", wire.TypeOffer, `{"offer_id": "off_1", "bundles": [{"bundle_id": "four", "label": "Four chairs", "terms": {"price": {"value": 220}, "place": {"value": "here"}}}, {"bundle_id": "six", "label": "All", "terms": {"price": {"value": 310}, "place": {"value": "here"}}}], "select": "one_of"}`, ""},
		{10, "buyer", wire.TypeAccept, `{"offer_id": "off_1", "bundle_id": "six"}`, ""}}},
	{name: "partial", moves: []move{opened, accepted,
		{10, "seller", wire.TypeOffer, `{"offer_id": "off_1", "terms": {"price": {"value": 320, "currency": "EUR"}}, "open_terms": ["place"], "complete": false}`, ""},
		{10, "buyer", wire.TypeInquire, `{"term_ids": ["place"]}`, "Could you bring them?"},
		{10, "buyer", wire.TypeConstrain, `{"constraints": {"price": {"max": 330}}}`, ""},
		offered(10, "buyer", wire.TypeCounter, "off_2", 325, "there"),
		{10, "seller", wire.TypeAccept, `{"offer_id": "off_2"}`, ""}}},
	{name: "numbers", moves: []move{opened, accepted,
		offered(10, "seller", wire.TypeOffer, "off_1", 0.000001, "here"),
		offered(10, "buyer", wire.TypeCounter, "off_2", 1e21, "here"),
		offered(10, "seller", wire.TypeCounter, "off_3", 5e-324, "there"),
		{10, "buyer", wire.TypeAccept, `{"offer_id": "off_3", "note": "\u0001 é \ud83d\ude00 \u2028 </x>", "\ue000": 1, "\ud83d\ude00": 2}`, ""}}},
	{name: "declined", moves: []move{opened, {9, "buyer", wire.TypeDeclineSession, `{"reason": "no room"}`, ""}}},
	{name: "rejected", moves: []move{opened, accepted, offered(10, "seller", wire.TypeOffer, "off_1", 400, "here"),
		{10, "buyer", wire.TypeReject, `{"reason": "too dear"}`, ""}}},
	{name: "withdrawn", moves: []move{opened, accepted, offered(10, "seller", wire.TypeOffer, "off_1", 400, "here"),
		{10, "seller", wire.TypeWithdraw, `{"reactivatable": false, "reason": "sold"}`, ""}}},
	{name: "reactivated", moves: []move{opened, accepted, offered(10, "seller", wire.TypeOffer, "off_1", 400, "here"),
		{10, "buyer", wire.TypeWithdraw, `{"reactivatable": true, "reason": "moving house"}`, ""},
		offered(86400, "seller", wire.TypeOffer, "off_2", 330, "there"),
		{10, "buyer", wire.TypeAccept, `{"offer_id": "off_2"}`, ""}}},
	{name: "expired", moves: []move{opened, accepted, offered(10, "seller", wire.TypeOffer, "off_1", 400, "here")}, expires: time.Hour},
	{name: "mediated", moves: []move{opened, accepted,
		offered(10, "seller", wire.TypeOffer, "off_1", 400, "here"), offered(10, "buyer", wire.TypeCounter, "off_2", 300, "there"),
		{10, "seller", wire.TypeProposeMediator, `{"mediator_id": "neighbour"}`, ""},
		{10, "buyer", wire.TypeProposeMediator, `{"mediator_id": "neighbour"}`, ""},
		{60, "neighbour", wire.TypeResolve, `{"terms": {"price": {"value": 350, "currency": "EUR"}, "place": {"value": "there"}}, "mechanism": "split"}`, "The middle."},
		offered(10, "seller", wire.TypeOffer, "off_3", 350, "there"), {10, "buyer", wire.TypeAccept, `{"offer_id": "off_3"}`, ""}}},
}

var began = time.Date(2026, 10, 5, 8, 0, 0, 0, time.UTC)

// key returns the key whose seed is the name padded with spaces to 32 bytes.
func key(name string) wire.PrivateKey {
	k, err := wire.NewPrivateKey(fmt.Appendf(nil, "%-32s", name))
	check(err)
	return k
}

// play makes the transcript of a sample, and the draft of the receipt that closes it.
func (s sample) play() (session.Document, attest.Draft) {
	id := wire.SessionID("ses_sample_" + s.name)
	t := session.NewTranscript(id, nil)
	now := began
	var doc session.Document
	for i, mv := range s.moves {
		now = now.Add(time.Duration(mv.after) * time.Second)
		e := wire.Envelope{
			Type: mv.typ, ID: wire.MessageID(fmt.Sprintf("msg_%s_%d", s.name, i+1)), Session: id, Time: now,
			From: wire.AgentID(mv.from), PrevHash: t.Tip(), Body: parse(mv.body), Reasoning: mv.says,
		}
		if mv.typ == wire.TypeOpen {
			e.To = []wire.AgentID{"buyer"}
		}
		m, err := wire.Sign(e, key(mv.from))
		check(err)
		check(t.Admit(m, now))
		doc.Messages = append(doc.Messages, m.Value())
	}
	draft, err := t.Receipt(now.Add(s.expires))
	check(err)
	return doc, draft
}

// signedByAll returns the attestation of a draft with the signatures of its parties.
func signedByAll(d attest.Draft) wire.Value {
	receipt, err := d.Value()
	check(err)
	for _, party := range d.Parties {
		receipt, err = attest.Countersign(receipt, party.Agent, key(string(party.Agent)))
		check(err)
	}
	return receipt
}

func main() {
	dir := flag.String("dir", filepath.Join("examples", "interop", "samples"), "where the samples are")
	compare := flag.Bool("check", false, "compare instead of writing")
	suite := flag.String("vectors", "", "write no samples, but a conformance suite about them, to this `folder`")
	flag.Parse()

	files, vectors := makeAll()
	if *suite != "" {
		check(writeSuite(*suite, vectors))
		return
	}
	var stale []string
	for name, content := range files {
		v, err := wire.Encode(content)
		check(err)
		text := []byte(v.Canonical() + "\n")
		path := filepath.Join(*dir, name+".json")
		if !*compare {
			check(os.MkdirAll(filepath.Dir(path), 0o755))
			check(os.WriteFile(path, text, 0o644))
			continue
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, text) {
			stale = append(stale, path)
		}
	}
	for _, folder := range []string{*dir, filepath.Join(*dir, "artifacts")} {
		there, err := filepath.Glob(filepath.Join(folder, "*.json"))
		check(err)
		for _, path := range there {
			name, _ := filepath.Rel(*dir, strings.TrimSuffix(path, ".json"))
			if _, ok := files[name]; !ok { // nobody makes it any more
				stale = append(stale, path)
			}
		}
	}
	if len(stale) > 0 {
		check(errors.New("not what would be written now: " + strings.Join(stale, " ")))
	}
}

// makeAll makes the files of all samples, by name, and what the public contract can be
// asked about them.
func makeAll() (files map[string]any, vectors map[string][]vector) {
	keys := wire.M{}
	for _, name := range []string{"seller", "buyer", "neighbour"} {
		keys[name] = key(name).Public()
	}
	files, vectors = map[string]any{"keys": keys}, map[string][]vector{}
	receipts := map[string]attest.Draft{}
	for _, s := range samples {
		doc, draft := s.play()
		doc.Receipt, receipts[s.name] = signedByAll(draft), draft
		files[s.name] = must(doc.Value())
		vectors["session-"+s.name] = []vector{chainVector(doc)}
	}
	for _, a := range artifacts(receipts) {
		files[filepath.Join("artifacts", a.name)] = a.document()
		vectors[a.name] = a.vectors()
	}
	return files, vectors
}

func parse(text string) wire.Value {
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
