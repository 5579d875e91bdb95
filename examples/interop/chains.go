package main

import (
	"time"

	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

// A pool is a chain session of alpha and beta, and all that is signed for it.
type pool struct {
	name                          string
	predicate                     wire.Value
	commitments                   []wire.Value
	proposed, open                *cmpc.ChainSession
	proof, unwind                 wire.Value
	activated, dissolved, expired *cmpc.ChainSession
}

// play makes a pool with a closure predicate of that profile.
func (p *pool) play(profile, condition string) {
	id := "urn:concordia:chain-session:" + p.name
	deadline := issued.Add(24 * time.Hour)
	var err error
	p.predicate = must(cmpc.Close(issuer(authority, p.name+"-predicate"), parse(`{"subject": "`+id+`", "type": "`+profile+`", "condition": `+condition+`,
		"expires_at": "`+wire.FormatTime(deadline)+`"}`)))
	predicateID, _ := p.predicate.Get("predicate_id")
	p.proposed, err = cmpc.Propose(id, predicateID.Text(), []wire.AgentID{alpha, beta}, deadline, issued)
	check(err)
	for _, c := range []struct{ who, draft string }{
		{alpha, `{"commitment_terms": {"quantity": 4, "unit": "pallets"}, "mandate_proof_id": "urn:concordia:mandate:alpha"}`},
		{beta, `{"commitment_terms": {"quantity": 6.5, "unit": "pallets"}}`},
	} {
		p.commitments = append(p.commitments, must(cmpc.Commit(issuer(c.who, p.name+c.who[len("did:web"):]), parse(c.draft), p.proposed)))
	}
	f := issuer(authority, p.name).Verifier()
	p.open, err = p.proposed.Opened(f, p.commitments)
	check(err)
	p.proof = must(cmpc.Activate(issuer(alpha, p.name+"-proof"), p.open, p.predicate, p.commitments))
	p.activated, err = p.open.Activated(f, p.proof)
	check(err)
	p.unwind = must(cmpc.Dissolve(issuer(beta, p.name+"-unwind"), parse(`{"dissolution_reason": "explicit_withdrawal", "dissolution_details": {"note": "a truck broke down"}}`), p.open))
	p.dissolved, err = p.open.Dissolved(f, p.unwind)
	check(err)
	p.expired, err = p.open.Lapsed(deadline)
	check(err)
}

// Two pools: one by each profile of closure predicates.
func chains() []artifact {
	bilateral, language := &pool{name: "bilateral"}, &pool{name: "language"}
	bilateral.play(cmpc.BilateralV1, `{"expected_participants": ["`+alpha+`", "`+beta+`"], "aggregate_quantity_required": 10.5, "activation_deadline_iso": "2026-10-06T12:00:00Z"}`)
	language.play(cmpc.ClosureLanguageV1, `{"expression": {"op": "and", "args": [{"op": ">=", "left": {"op": "sum", "field": "commitment_terms.quantity"}, "value": 10},
		{"op": "in", "field": "commitment_terms.unit", "values": ["pallets"]}, {"op": "not", "arg": {"op": "<", "field": "commitment_terms.quantity", "value": 4}}]}}`)
	var list []artifact
	for _, p := range []*pool{bilateral, language} {
		of := func(s *cmpc.ChainSession) wire.M { return wire.M{"chain_session": s.Value()} }
		pass := func(s *cmpc.ChainSession, to cmpc.State, at time.Time) wire.Value {
			return must(wire.Encode(wire.M{"initial_session": s.Value(), "attempt_transition": to, "transition_now": wire.FormatTime(at)}))
		}
		ready := func(s *cmpc.ChainSession, member, as string, of wire.Value) *cmpc.ChainSession {
			id, _ := of.Get(member)
			s, err := cmpc.ReadChainSession(s.Value().With(as, id))
			check(err)
			return s
		}
		committed, _ := p.open.Value().Get("commitments")
		full, err := cmpc.ReadChainSession(p.proposed.Value().With("commitments", committed))
		check(err)
		list = append(list,
			artifact{name: p.name + "-predicate", kind: "closure_predicate", input: p.predicate, context: of(p.proposed)},
			artifact{name: p.name + "-commitment-alpha", kind: "commitment", input: p.commitments[0], context: of(p.open)},
			artifact{name: p.name + "-commitment-beta", kind: "commitment", input: p.commitments[1], context: of(p.open)},
			artifact{name: p.name + "-closure", kind: "closure", input: must(wire.Encode(wire.M{
				"predicate": p.predicate, "chain_session": p.open.Value(), "commitments": p.commitments,
			}))},
			artifact{name: p.name + "-activation", kind: "activation_proof", input: p.proof, context: of(p.open)},
			artifact{name: p.name + "-unwind", kind: "unwind", input: p.unwind, context: of(p.open)},
			artifact{name: p.name + "-session-proposed", kind: "chain_session", input: p.proposed.Value()},
			artifact{name: p.name + "-session-open", kind: "chain_session", input: p.open.Value()},
			artifact{name: p.name + "-session-activated", kind: "chain_session", input: p.activated.Value()},
			artifact{name: p.name + "-session-dissolved", kind: "chain_session", input: p.dissolved.Value()},
			artifact{name: p.name + "-session-expired", kind: "chain_session", input: p.expired.Value()},
			artifact{name: p.name + "-opening", kind: "chain_session", input: pass(full, cmpc.Open, issued)},
			artifact{name: p.name + "-activating", kind: "chain_session",
				input: pass(ready(p.open, "activation_proof_id", "activation_proof_id", p.proof), cmpc.Activated, issued)},
			artifact{name: p.name + "-dissolving", kind: "chain_session",
				input: pass(ready(p.open, "unwind_record_id", "unwind_record_id", p.unwind), cmpc.Dissolved, issued)},
			artifact{name: p.name + "-expiring", kind: "chain_session", input: pass(p.open, cmpc.Expired, p.open.Deadline)},
		)
	}
	return list
}
