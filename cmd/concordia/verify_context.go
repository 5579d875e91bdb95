package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

// verifyOptions are what a person knows that an artifact is judged by.
type verifyOptions struct {
	imported                                        bool
	offer, action, revocations, chainSession, query string // files
	store                                           string // directory
	session, sequenceKey, publisher, decision       string
	by, signer                                      string
	extensions, revokers                            []string
	given                                           []string // names of the flags that were given
	stateActive, aggregate, verbose                 bool
	uses                                            int64
	lookedUp                                        int // revocation records of the store
}

// contextFlags are the flags of what an artifact is judged for.
var contextFlags = []string{
	"import", "offer", "session", "query", "action", "sequence-key", "state-active", "uses", "revocations", "store", "revoker", "decision",
	"publisher", "aggregate", "chain-session", "active-extension", "signer", "by",
}

// note remembers which flags were given.
func (o *verifyOptions) note(cmd *cobra.Command) {
	for _, name := range contextFlags {
		if cmd.Flags().Changed(name) {
			o.given = append(o.given, name)
		}
	}
}

// revoker reports whether the person takes an agent's word that something is
// revoked.
func (o *verifyOptions) revoker(id wire.AgentID) bool { return among(o.revokers, id) }

// among reports whether one of ids is that agent, in either spelling of a did:key.
func among(ids []string, agent wire.AgentID) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return wire.PlainDIDKey(wire.AgentID(id)) == wire.PlainDIDKey(agent) })
}

func (o *verifyOptions) isZero() bool {
	return len(o.given) == 0
}

// only adds some of the flags.
func (o *verifyOptions) only(cmd *cobra.Command, names ...string) {
	var all cobra.Command
	o.flags(&all)
	for _, name := range names {
		cmd.Flags().AddFlag(all.Flags().Lookup(name))
	}
}

func (o *verifyOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.offer, "offer", "", "JSON `file` with the offer or call that an approval has to be about")
	f.StringVar(&o.session, "session", "", "`URN` of the session that an approval has to be about")
	f.StringVar(&o.query, "query", "", "JSON `file` with the query that a reputation response has to answer")
	f.StringVar(&o.action, "action", "", "JSON `file` with the action that a mandate has to allow")
	f.StringVar(&o.sequenceKey, "sequence-key", "", "the `key` of the sequence a mandate's action belongs to")
	f.BoolVar(&o.stateActive, "state-active", false, "the condition of a state-bound mandate holds")
	f.Int64Var(&o.uses, "uses", 0, "how often a mandate was used before")
	f.StringVar(&o.revocations, "revocations", "", "JSON `file` with revocation records, in an array or one a line")
	f.StringVar(&o.store, "store", "", "`directory` of an artifact store whose revocation records count, too")
	f.StringArrayVar(&o.revokers, "revoker", nil, "`id` of an agent whose revocations count against anything (repeatable)")
	f.StringVar(&o.signer, "signer", "", "`id` of the agent whose key a record has to be signed with")
	f.StringVar(&o.by, "by", "", "`id` of the agent who has to have signed")
	f.StringVar(&o.decision, "decision", "", "the `hash` that a cascade decision has to have as its id")
	f.StringVar(&o.publisher, "publisher", "", "the `DID` of who publishes a cosigned receipt")
	f.BoolVar(&o.aggregate, "aggregate", false, "a competence proof has to prove its figures, not only what it reveals")
	f.StringVar(&o.chainSession, "chain-session", "", "JSON `file` with the chain session of a commitment, activation proof or unwind record")
	f.StringArrayVar(&o.extensions, "active-extension", nil, "`URI` of an A2A extension that is active (repeatable)")
}

// context returns the options as the context of a case (SPEC §12.3).
func (o *verifyOptions) context() (wire.Value, error) {
	m := wire.M{}
	for name, text := range map[string]string{
		"session_urn": o.session, "sequence_key": o.sequenceKey, "publisher_did": o.publisher, "expected_decision_id": o.decision,
		"signer": o.signer,
	} {
		if text != "" {
			m[name] = text
		}
	}
	for name, path := range map[string]string{
		"offer": o.offer, "action": o.action, "chain_session": o.chainSession, "query": o.query,
	} {
		if path == "" {
			continue
		}
		v, err := readJSON(path)
		if err != nil {
			return wire.Value{}, err
		}
		m[name] = v
	}
	if o.stateActive {
		m["state_active"] = true
	}
	if o.aggregate {
		m["require_aggregate"] = true
	}
	if o.uses < 0 {
		return wire.Value{}, cli.Usagef("--uses: want a number from 0")
	}
	if slices.Contains(o.given, "uses") {
		m["uses"] = o.uses
	}
	if len(o.extensions) > 0 {
		m["active_extensions"] = o.extensions
	}
	v, err := wire.Encode(m)
	if err != nil {
		return v, fmt.Errorf("reading the flags: %w", err)
	}
	return v, nil
}
