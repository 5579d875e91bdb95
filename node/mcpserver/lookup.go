package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Bounds of what is looked up in one call.
const (
	maxPage     = 50   // messages
	defaultPage = 10   // messages
	maxHashes   = 1000 // of concordia_session_public_view
	maxReceipt  = 64 << 10
)

func lookupTools() []*tool {
	var formats []string
	for _, f := range session.Formats() {
		formats = append(formats, string(f))
	}
	return []*tool{
		{
			name: "concordia_session_status", title: "Look at a session", reads: true, repeats: true,
			text: "Says how a session stands: state, whose turn, the current offer, what you may do, what to do next.",
			takes: []param{sessionParam, tokenParam,
				{name: "include_transcript", kind: yes, text: "with the last messages"},
				{name: "transcript_limit", kind: integer, least: 1, most: maxPage, caps: true, text: "how many (10)"}},
			gives: with(viewMembers, param{name: "initiator", kind: id}, param{name: "responder", kind: id}, param{name: "transcript_valid", kind: yes, must: true}),
			do:    status,
		},
		{
			name: "concordia_session_public_view", title: "Look at a session without its contents", reads: true, repeats: true,
			text:  "Says what may be shown of a session to others: state, roles, and the hash of each message, at most the first 1000. Neither who they are nor what they say.",
			takes: []param{sessionParam},
			gives: []param{{name: "session_id", kind: id, must: true}, {name: "state", kind: text, must: true}, {name: "parties", kind: objects, must: true},
				{name: "is_public", kind: yes, must: true}, {name: "message_count", kind: integer, must: true}, {name: "transcript_hash_chain", kind: texts, must: true},
				{name: "created_at", kind: text, must: true}, {name: "is_terminal", kind: yes, must: true}, {name: "concluded_at", kind: text}},
			do: publicView,
		},
		{
			name: "concordia_list_sessions", title: "List sessions", reads: true, repeats: true,
			text: "Lists your sessions in the order in which they began.",
			takes: []param{
				{name: "state", kind: text, oneOf: []string{"proposed", "active", "agreed", "rejected", "expired", "dormant"}},
				{name: "with", kind: text, text: "only those with this agent: its id, or the name of a contact"},
				{name: "live", kind: yes, text: "only those in which something may happen"},
				{name: "after", kind: id, text: "only those that began after this session"},
				{name: "limit", kind: integer, least: 1, most: node.MaxMost, caps: true, text: "how many (100)"}},
			gives: []param{{name: "count", kind: integer, must: true}, {name: "sessions", kind: objects, must: true}},
			do:    listSessions,
		},
		{
			name: "concordia_transcript", title: "Read what was said", reads: true, repeats: true,
			text:  "Shows the messages of a session from a position on. For the exact signed text read the resource concordia://session/ID/transcript.",
			takes: []param{sessionParam, {name: "from", kind: integer, most: wire.MaxSafeInteger, text: "position of the first message; 0 is the open message"}, {name: "limit", kind: integer, least: 1, most: maxPage, caps: true, text: "how many (10)"}},
			gives: []param{{name: "session_id", kind: id, must: true}, {name: "transcript_length", kind: integer, must: true}, {name: "count", kind: integer, must: true},
				{name: "from", kind: integer, must: true}, {name: "resource", kind: text, must: true}},
			do: transcript,
		},
		{
			name: "concordia_agreement", title: "Export what was agreed", reads: true, repeats: true,
			text:  "Returns the agreement of a session, as itself or for a settlement protocol. It exists once the session is agreed.",
			takes: []param{sessionParam, {name: "format", kind: text, oneOf: formats, text: "json if it is left out"}},
			gives: []param{{name: "session_id", kind: id, must: true}, {name: "format", kind: text, must: true}, {name: "hash", kind: hash, must: true, text: "of the exact export"}},
			do:    agreement,
		},
		{
			name: "concordia_session_receipt", title: "Get the receipt", reads: true, repeats: true,
			text:  "Returns the receipt that all parties have signed. It exists once a session is over and every party has signed; until then it is pending.",
			takes: []param{sessionParam, tokenParam, {name: "category", kind: text, idle: true, text: "ignored: the receipt has that of the open message"}, {name: "value_range", kind: text, idle: true, text: "ignored, as category"}},
			gives: []param{{name: "session_id", kind: id, must: true}, {name: "receipt", kind: object, text: "the signed receipt, exactly"}, {name: "resource", kind: text, must: true},
				{name: "transcript_valid", kind: yes, must: true}, {name: "message", kind: text, must: true}},
			do: receipt,
		},
	}
}

func status(ctx context.Context, c *call) (wire.M, error) {
	v, err := c.api.Session(ctx, c.session())
	if err != nil {
		return nil, err
	}
	words := newExternal()
	r := c.viewWith(v, words)
	if len(v.Parties) > 1 { // the initiator is the first one
		r["initiator"], r["responder"] = v.Parties[0], v.Parties[1]
	}
	r["transcript_valid"] = v.Misconduct == "" && (v.Ending == nil || v.Ending.Breach == "")
	if !c.yes("include_transcript") {
		return r, nil
	}
	limit := int(c.int("transcript_limit", defaultPage))
	list, err := c.api.Messages(ctx, v.Session, max(0, v.Len-limit), limit)
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, m := range list {
		all = append(all, words.message(m))
	}
	words.members["transcript"] = all
	return words.into(r), nil
}

func publicView(ctx context.Context, c *call) (wire.M, error) {
	v, err := c.api.Session(ctx, c.session())
	if err != nil {
		return nil, err
	}
	hashes, parties := []wire.Hash{}, []any{}
	for len(hashes) < min(maxHashes, v.Len) {
		list, err := c.api.Messages(ctx, v.Session, len(hashes), maxHashes-len(hashes))
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break
		}
		for _, m := range list {
			hashes = append(hashes, m.Hash())
		}
	}
	for i := range v.Parties {
		role := session.Responder
		if i == 0 {
			role = session.Initiator
		}
		parties = append(parties, wire.M{"role": role, "trust_tier": "unknown"})
	}
	r := wire.M{
		"session_id": v.Session, "state": stateName(v.State), "parties": parties, "is_public": false, "message_count": v.Len,
		"transcript_hash_chain": hashes, "created_at": wire.FormatTime(v.Began), "is_terminal": isOver(v.State),
	}
	if v.Ending != nil {
		r["concluded_at"] = wire.FormatTime(v.Ending.At)
	}
	return r, nil
}

func listSessions(ctx context.Context, c *call) (wire.M, error) {
	f := node.Filter{State: stateOf(c.text("state")), Live: c.yes("live"), After: wire.SessionID(c.text("after")), Most: int(c.int("limit", 0))}
	if with := c.text("with"); with != "" {
		var err error
		if f.With, err = c.agent(ctx, "/with", with); err != nil {
			return nil, err
		}
	}
	list, err := c.api.Sessions(ctx, f)
	if err != nil {
		return nil, err
	}
	words, all, categories := newExternal(), []any{}, wire.M{}
	for _, s := range list {
		m := wire.M{
			"session_id": s.Session, "state": stateName(s.State), "parties": agents(s.Parties), "created_at": wire.FormatTime(s.Began),
			"transcript_length": s.Len, "your_turn": s.Turn,
		}
		if s.Receipt != node.NoReceipt {
			m["receipt"] = s.Receipt
		}
		if s.Category != "" {
			categories[string(s.Session)] = words.clean(s.Category, maxShownName)
		}
		all = append(all, m)
	}
	if len(categories) > 0 {
		words.members["categories"] = categories
	}
	return words.into(wire.M{"count": len(list), "sessions": all}), nil
}

func transcript(ctx context.Context, c *call) (wire.M, error) {
	v, err := c.api.Session(ctx, c.session())
	if err != nil {
		return nil, err
	}
	from := int(c.int("from", 0))
	list, err := c.api.Messages(ctx, v.Session, from, int(c.int("limit", defaultPage)))
	if err != nil {
		return nil, err
	}
	words, all := newExternal(), []any{}
	for _, m := range list {
		all = append(all, words.message(m))
	}
	words.members["messages"] = all
	return words.into(wire.M{
		"session_id": v.Session, "transcript_length": v.Len, "from": from, "count": len(list), "resource": resourceOf(v.Session, "transcript"),
	}), nil
}

func agreement(ctx context.Context, c *call) (wire.M, error) {
	format := session.FormatJSON
	if s := c.text("format"); s != "" {
		format = session.Format(s)
	}
	v, err := c.api.Export(ctx, c.session(), format)
	if err != nil {
		return nil, err
	}
	words := newExternal()
	words.put("agreement", v)
	return words.into(wire.M{"session_id": c.session(), "format": format, "hash": v.Hash()}), nil
}

func receipt(ctx context.Context, c *call) (wire.M, error) {
	v, err := c.api.Session(ctx, c.session())
	if err != nil {
		return nil, err
	}
	list, err := c.api.Receipts(ctx, c.session())
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		if isOver(v.State) {
			return nil, refuse("", "the receipt waits for signatures of other parties: concordia_wait with until receipt")
		}
		return nil, refuse("", "the session is not over, and has no receipt yet: go on, and then call concordia_wait with until receipt")
	}
	last := list[len(list)-1]
	r := wire.M{"session_id": v.Session, "resource": resourceOf(v.Session, "receipt"), "transcript_valid": true, "message": "All parties signed this receipt. concordia verify checks it offline."}
	words := newExternal()
	words.left = maxReceipt
	words.put("receipt", last)
	if words.truncated || words.altered || hasWords(last) {
		return words.into(r), nil // not as it was signed, or with words of others: see the resource
	}
	r["receipt"] = last
	return r, nil
}
