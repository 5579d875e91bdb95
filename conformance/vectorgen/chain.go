package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

const (
	withProof  = `"urn:concordia:activation-proof:vat-9"`
	withUnwind = `"urn:concordia:unwind:vat-9"`
)

// passage asks whether the session may pass to another state at a time.
func passage(session wire.Value, to, at string) wire.Value {
	return value(wire.M{"initial_session": session, "attempt_transition": to, "transition_now": at})
}

func chainOf(name string, v wire.Value, contract string, faults ...[]fault) specimen {
	s := specimen{
		kind: "chain_session", form: name, record: "chain_session_transition", value: v,
		context:  wire.M{"now": now, "public_keys": publicKeys(notary)},
		contract: contract, contractContext: func(wire.Value) wire.M { return wire.M{} },
	}
	for _, list := range faults {
		s.faults = append(s.faults, list...)
	}
	return s
}

// open is the session of a chain, in a state in which what a transition needs is
// there.
func open(edits ...func(wire.Value) wire.Value) wire.Value {
	return all(append([]func(wire.Value) wire.Value{set("/activation_deadline", `"2026-09-14T10:00:00Z"`)}, edits...)...)(parse(chainText))
}

// chainTransition is about passing from one state to the next.
func chainTransition() specimen {
	proved := set("/activation_proof_id", withProof)
	unwound := set("/unwind_record_id", withUnwind)
	sound := passage(open(proved), "ACTIVATED", now)
	const first = "/initial_session"
	s := sweep{what: "a chain session", rule: cmpc.RuleChainSession, shared: true}
	to := func(name string, session wire.Value, to, at string, rule *wire.Rule, why, breaks string) fault {
		return fault{name: name, rule: rule, shared: true, edit: sameAs(passage(session, to, at)), why: why, breaks: breaks}
	}
	const skipped = "parties are bound, or set free, by a step that the session never took"
	const unproved = "a session ends without anything that shows why"
	proposed := set("/state", `"PROPOSED"`)
	faults := []fault{
		to("opens", open(proposed), "OPEN", now, nil, "with one commitment for each participant a session opens", ""),
		to("opens-for-one", open(proposed, set("/participants", `["did:web:estate.example"]`), drop("/commitments/1")), "OPEN", now, nil, "a session may be of one participant", ""),
		to("dissolves", open(unwound), "DISSOLVED", now, nil, "with an unwind record a session is dissolved", ""),
		to("dissolves-late", open(unwound), "DISSOLVED", "2026-09-15T10:00:00Z", nil, "a session may be dissolved after its deadline", ""),
		to("dissolves-with-proof", open(unwound, proved), "DISSOLVED", now, nil, "a proof keeps nobody from dissolving a session that was not activated", ""),
		to("expires", open(), "EXPIRED", "2026-09-14T10:00:00Z", nil, "from its deadline on a session without proof expires", ""),
		to("expires-much-later", open(), "EXPIRED", "2027-09-14T10:00:00Z", nil, "from its deadline on a session without proof expires", ""),
		to("opens-with-one-missing", open(proposed, drop("/commitments/1")), "OPEN", now, cmpc.RuleOpening, "a session opens when every participant has committed", "one side is bound and the other is not"),
		to("opens-with-none", open(proposed, set("/commitments", `[]`)), "OPEN", now, cmpc.RuleOpening, "a session opens when every participant has committed", "one side is bound and the other is not"),
		to("opens-with-one-too-many", open(proposed, set("/commitments/-", `"urn:concordia:commitment:vat-9-c"`)), "OPEN", now, cmpc.RuleOpening, "there is one commitment for each participant", "a commitment of somebody else fills a place"),
		to("opens-with-more-participants", open(proposed, set("/participants/-", `"did:web:other.example"`)), "OPEN", now, cmpc.RuleOpening, "a session opens when every participant has committed", "one side is bound and the other is not"),
		to("activates-without-proof", open(), "ACTIVATED", now, cmpc.RuleActivating, "a session is activated with a proof", unproved),
		to("activates-with-an-unwind-record", open(unwound), "ACTIVATED", now, cmpc.RuleActivating, "an unwind record is no activation proof", unproved),
		to("dissolves-without-record", open(), "DISSOLVED", now, cmpc.RuleDissolving, "a session is dissolved with an unwind record", unproved),
		to("dissolves-with-a-proof-only", open(proved), "DISSOLVED", now, cmpc.RuleDissolving, "an activation proof is no unwind record", unproved),
		to("expires-too-early", open(), "EXPIRED", now, cmpc.RuleExpiring, "before its deadline a session does not expire", "one side walks away while the other still could close"),
		to("expires-a-second-early", open(), "EXPIRED", "2026-09-14T09:59:59Z", cmpc.RuleExpiring, "before its deadline a session does not expire", "one side walks away while the other still could close"),
		to("expires-early-elsewhere", open(), "EXPIRED", "2026-09-14T11:59:59+02:00", cmpc.RuleExpiring, "instants are compared, not texts: this one is a second before the deadline", "one side walks away while the other still could close"),
		to("expires-with-proof", open(proved), "EXPIRED", "2026-09-14T10:00:00Z", cmpc.RuleExpiringUnproved, "a session with a proof does not expire", "one side walks away from what was activated"),
		to("expires-with-proof-later", open(proved), "EXPIRED", "2027-09-14T10:00:00Z", cmpc.RuleExpiringUnproved, "a session with a proof does not expire, however late", "one side walks away from what was activated"),
	}
	for _, f := range []struct{ from, to string }{
		{"PROPOSED", "PROPOSED"}, {"PROPOSED", "ACTIVATED"}, {"PROPOSED", "DISSOLVED"}, {"PROPOSED", "EXPIRED"}, {"OPEN", "OPEN"}, {"OPEN", "PROPOSED"},
		{"ACTIVATED", "OPEN"}, {"ACTIVATED", "ACTIVATED"}, {"ACTIVATED", "DISSOLVED"}, {"ACTIVATED", "EXPIRED"}, {"DISSOLVED", "OPEN"}, {"DISSOLVED", "ACTIVATED"}, {"DISSOLVED", "EXPIRED"},
		{"EXPIRED", "OPEN"}, {"EXPIRED", "ACTIVATED"}, {"EXPIRED", "PROPOSED"},
		{"OPEN", "activated"}, {"OPEN", "CLOSED"}, {"PROPOSED", ""},
	} {
		name := label(f.from) + "-to-" + label(f.to)
		switch f.to {
		case "activated":
			name += "-in-small-letters"
		case "":
			name += "nothing"
		}
		last := to(name, open(proved, unwound, set("/state", quote(f.from))), f.to, now, cmpc.RuleTransition, "there are five transitions, and this is none of them", skipped)
		if f.to == "" {
			last.class = wire.ClassSchema // a question without a state is none
		}
		faults = append(faults, last)
	}
	return chainOf("transition", sound, "chain-session-transition-v1",
		s.without(first+"/chain_session_id", first+"/participants", first+"/closure_predicate_ref", first+"/state", first+"/created_at", first+"/activation_deadline", first+"/activated_at", first+"/commitments", first+"/unwind_record_id", first+"/activation_proof_id"),
		s.mistyped(first+"/participants", `[]`, first+"/participants/0", `"estate"`, first+"/state", `"CLOSED"`, first+"/commitments", `{}`, first+"/activation_proof_id", `true`, first+"/unwind_record_id", `"urn:concordia:activation-proof:vat-9"`),
		s.closed(first), faults,
		late(bound{name: "activates", rule: cmpc.RuleActivatingInTime, limit: "2026-09-14T10:00:00Z", open: true, beyond: 1, shared: true,
			put: func(text string) fault { return fault{edit: sameAs(passage(open(proved), "ACTIVATED", text))} },
			why: "a session is activated before its deadline, not at it", breaks: "who let the deadline pass and went elsewhere is bound all the same"}),
	)
}

// chainRecord is a transition record with its hash. spelled is its time as Python
// spells it.
func chainRecord(from, to, at, spelled, before string) wire.Value {
	m := wire.M{"from_state": from, "to_state": to, "transitioned_at": at, "evidence": nil, "prev_transition_hash": nil}
	if before != "" {
		m["prev_transition_hash"] = before
	}
	return hashed(value(m), spelled)
}

func hashed(record wire.Value, spelled string) wire.Value {
	record = record.Without("transition_hash")
	return record.With("transition_hash", wire.Text(record.With("transitioned_at", wire.Text(spelled)).Hash().Hex()))
}

// chainSession is about the session itself and the transitions that it brings
// along.
func chainSession() specimen {
	const opened, spelled = "2026-09-14T08:30:00Z", "2026-09-14T08:30:00+00:00"
	const ended, endedSpelled = "2026-09-14T09:00:00.25Z", "2026-09-14T09:00:00.250000+00:00"
	one := chainRecord("PROPOSED", "OPEN", opened, spelled, "")
	hash := func(v wire.Value) string { h, _ := v.Get("transition_hash"); return h.Text() }
	two := chainRecord("OPEN", "DISSOLVED", ended, endedSpelled, hash(one))
	session := open(set("/activation_proof_id", withProof))
	dissolved := all(set("/state", `"DISSOLVED"`), set("/dissolved_at", quote(ended)))(session)
	with := func(session wire.Value, records ...wire.Value) func(wire.Value) wire.Value {
		return sameAs(session.With("transitions", value(append([]wire.Value{}, records...))))
	}
	const rewritten = "the story of a session is rewritten, and nobody sees it"
	record, chain, move, lists, live := cmpc.RuleTransitionRecord, cmpc.RuleTransitionChain, cmpc.RuleTransition, cmpc.RuleChainLists, cmpc.RuleChainLive
	of := func(name string, edit func(wire.Value) wire.Value, rule *wire.Rule, why, breaks string) fault {
		f := fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks}
		// A session with transitions is not of the published form, whatever else.
		if rule == nil {
			f.shared, f.theirs, f.breaks = true, cmpc.RulePublished, "a reader of the published form meets a member that it does not know"
			f.why += "; the published form has no transitions"
		}
		return f
	}
	misshapen := func(name, pointer, text, why string) fault {
		edit := func(v wire.Value) wire.Value { return hashed(set(pointer, text)(v), spelled) }
		if text == "" {
			edit = func(v wire.Value) wire.Value { return hashed(drop(pointer)(v), spelled) }
		}
		return of("record-"+name, with(session, edit(one)), record, why, rewritten)
	}
	changed := func(name, pointer, text string, rule *wire.Rule, why, breaks string) fault {
		return fault{name: name, rule: rule, edit: set(pointer, text), why: why, breaks: breaks}
	}
	s := sweep{what: "a chain session", rule: cmpc.RuleChainSession, shared: true}
	c := chainOf("", session, "chain-session-v1",
		s.without("/chain_session_id", "/participants", "/closure_predicate_ref", "/state", "/created_at", "/activation_deadline", "/activated_at", "/dissolved_at", "/commitments", "/unwind_record_id", "/activation_proof_id"),
		s.mistyped("/participants", `[]`, "/participants/0", `"estate"`, "/state", `"CLOSED"`, "/commitments", `{}`, "/activation_proof_id", `true`, "/unwind_record_id", `"urn:concordia:activation-proof:vat-9"`, "/dissolved_at", `0`),
		s.closed(""), s.recased("/state"),
		late(bound{name: "created-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/created_at"),
			why: "no session was made later than now, but for the skew of 120 seconds", breaks: "a session of tomorrow binds somebody today"}),
		late(bound{name: "clock", rule: attest.RuleNotYet, limit: "2026-09-14T07:58:00Z", beyond: -1, put: byClock,
			why: "no session was made later than now, but for the skew of 120 seconds", breaks: "a session of tomorrow binds somebody today"}),
		sweep{what: "a chain session", rule: cmpc.RuleInstant}.misdated("/created_at", "/activation_deadline"),
		[]fault{
			of("one-transition", with(session, one), nil, "a session may bring along the record of its first transition", ""),
			of("two-transitions", with(dissolved, one, two), nil, "a session may bring along the records of all its transitions", ""),
			of("no-transitions", with(session), chain, "a list of no records leads to no state, and the session is in one", rewritten),
			of("evidence", with(session, hashed(set("/evidence", `{"commitments":2}`)(one), spelled)), nil, "evidence is an object or null", ""),
			of("fraction", with(session, chainRecord("PROPOSED", "OPEN", "2026-09-14T08:30:00.5Z", "2026-09-14T08:30:00.500000+00:00", "")), nil, "a fraction is hashed with six digits", ""),
			of("fraction-of-zeros", with(session, chainRecord("PROPOSED", "OPEN", "2026-09-14T08:30:00.000Z", spelled, "")), nil, "a fraction of zeros is not hashed", ""),
			of("offset", with(session, chainRecord("PROPOSED", "OPEN", "2026-09-14T10:30:00+02:00", "2026-09-14T10:30:00+02:00", "")), nil, "an offset is hashed as it was given", ""),
			of("hash-of-the-other-spelling", with(session, chainRecord("PROPOSED", "OPEN", opened, opened, "")), chain, "the time is hashed in the spelling of Python", "implementations hash different texts, and each takes the other's records for forged"),
			of("hash-changed", with(session, set("/transition_hash", quote(digestOf("another")))(one)), chain, "a record has its own hash", rewritten),
			of("hash-with-a-prefix", with(session, set("/transition_hash", quote("sha256:"+hash(one)))(one)), chain, "a hash is bare hex", rewritten),
			of("time-changed", with(session, set("/transitioned_at", `"2026-09-14T08:00:00Z"`)(one)), chain, "the hash covers the time", rewritten),
			of("evidence-changed", with(session, set("/evidence", `{}`)(one)), chain, "the hash covers the evidence", rewritten),
			of("first-with-a-predecessor", with(session, chainRecord("PROPOSED", "OPEN", opened, spelled, digestOf("before"))), chain, "the first record has none before it", "records before the first one are cut off"),
			of("first-cut-off", with(dissolved, two), chain, "the first record has none before it", "records before the first one are cut off"),
			of("other-predecessor", with(dissolved, one, chainRecord("OPEN", "DISSOLVED", ended, endedSpelled, digestOf("before"))), chain, "a record has the hash of the one before", rewritten),
			of("no-predecessor", with(dissolved, one, chainRecord("OPEN", "DISSOLVED", ended, endedSpelled, "")), chain, "only the first record has none before it", rewritten),
			of("predecessor-with-a-prefix", with(dissolved, one, chainRecord("OPEN", "DISSOLVED", ended, endedSpelled, "sha256:"+hash(one))), chain, "a hash is bare hex", rewritten),
			of("first-rewritten", with(dissolved, chainRecord("PROPOSED", "OPEN", "2026-09-14T08:00:00Z", "2026-09-14T08:00:00+00:00", ""), two), chain, "a record that was written anew is not the one before", rewritten),
			of("other-state", with(session, one, two), chain, "the last record leads to the state of the session", "a session that was dissolved is shown as open"),
			of("last-cut-off", with(dissolved, one), chain, "the last record leads to the state of the session", "a session is shown without the record of its end"),
			of("illegal-record", with(session, chainRecord("ACTIVATED", "OPEN", opened, spelled, "")), move, "each record is one of the five transitions", "a session is brought back after it ended"),
			of("record-to-itself", with(session, chainRecord("OPEN", "OPEN", opened, spelled, "")), move, "each record is one of the five transitions", "a session is brought back after it ended"),
			of("record-that-skips", with(dissolved, chainRecord("PROPOSED", "DISSOLVED", ended, endedSpelled, "")), move, "each record is one of the five transitions", "a session ends that was never open"),
			of("record-from-elsewhere", with(session, one, chainRecord("PROPOSED", "OPEN", ended, endedSpelled, hash(one))), move, "a record begins where the one before ended", "a session is opened twice, the second time for others"),
			of("record-after-the-end", with(session, one, two, chainRecord("PROPOSED", "OPEN", "2026-09-14T09:10:00Z", "2026-09-14T09:10:00+00:00", hash(two))), move, "a record begins where the one before ended", "a session is brought back after it ended"),
			of("transitions-in-an-object", sameAs(session.With("transitions", parse(`{}`))), record, "transitions are a list", rewritten),
			of("record-in-text", sameAs(session.With("transitions", parse(`["OPEN"]`))), record, "a record is an object", rewritten),
			misshapen("without-time", "/transitioned_at", ``, "a record has a time"),
			misshapen("without-evidence", "/evidence", ``, "a record has evidence, be it null"),
			misshapen("with-another-member", "/note", `"x"`, "a record is closed"),
			misshapen("of-another-state", "/to_state", `"CLOSED"`, "there are five states"),
			misshapen("state-in-small-letters", "/from_state", `"proposed"`, "states are compared as they are spelled"),
			misshapen("evidence-in-text", "/evidence", `"seen"`, "evidence is an object or null"),
			of("record-without-hash", with(session, drop("/transition_hash")(one)), record, "a record has its hash", rewritten),
			of("record-local-time", with(session, chainRecord("PROPOSED", "OPEN", "2026-09-14T08:30:00", "2026-09-14T08:30:00", "")), record, "the time of a record is an instant", rewritten),
			changed("participant-twice", "/participants", `["did:web:estate.example","did:web:estate.example"]`, lists, "a participant is listed once", "one party fills two places"),
			changed("participant-twice-apart", "/participants", `["did:web:estate.example","did:web:trader.example","did:web:estate.example"]`, lists, "a participant is listed once", "one party fills two places"),
			changed("commitment-twice", "/commitments", `["urn:concordia:commitment:vat-9-a","urn:concordia:commitment:vat-9-a"]`, lists, "a commitment is listed once", "one commitment is counted as those of both parties"),
			changed("commitment-twice-apart", "/commitments/-", `"urn:concordia:commitment:vat-9-a"`, lists, "a commitment is listed once", "one commitment is counted as those of both parties"),
			changed("open-and-activated", "/activated_at", `"2026-09-14T09:00:00Z"`, live, "an open session was not activated", "a session that took effect is shown as undecided"),
			changed("open-and-dissolved", "/dissolved_at", `"2026-09-14T09:00:00Z"`, live, "an open session was not dissolved", "a session that ended is activated after all"),
			{name: "proposed-and-activated", rule: live, edit: all(set("/state", `"PROPOSED"`), set("/activated_at", `"2026-09-14T09:00:00Z"`)), why: "a session that is proposed was not activated", breaks: "a session that took effect is shown as undecided"},
			{name: "proposed-and-dissolved", rule: live, edit: all(set("/state", `"PROPOSED"`), set("/dissolved_at", `"2026-09-14T09:00:00Z"`)), why: "a session that is proposed was not dissolved", breaks: "a session that ended is opened again"},
			{name: "activated", shared: true, edit: all(set("/state", `"ACTIVATED"`), set("/activated_at", `"2026-09-14T09:00:00Z"`)), why: "a session that was activated says when"},
			{name: "proposed", shared: true, edit: all(set("/state", `"PROPOSED"`), set("/commitments", `[]`)), why: "a session is proposed before anybody commits"},
		},
	)
	c.record = "chain_session"
	return c
}
