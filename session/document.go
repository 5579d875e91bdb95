package session

import (
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A Document is a transcript as a file: {"messages": […], "evidence": {…},
// "receipt": {…}}, evidence and receipt being optional (SPEC §9.3).
type Document struct {
	Messages []wire.Value
	Evidence wire.Value // the message that breached the session, absent if none did
	Receipt  wire.Value // absent if there is none
}

// ReadDocument reads a transcript file. An array of messages will do.
func ReadDocument(v wire.Value) (Document, error) {
	list := v
	var d Document
	if v.Kind() == wire.Object {
		r := wire.Read(v, "", RuleDocument)
		r.Open("messages", "evidence", "receipt")
		list = r.Array("messages")
		if r.Has("evidence") {
			d.Evidence = r.Object("evidence").Whole()
		}
		if r.Has("receipt") {
			d.Receipt = r.Object("receipt").Whole()
		}
		if err := r.Err(); err != nil {
			return Document{}, err
		}
	} else if v.Kind() != wire.Array {
		return Document{}, RuleDocument.At("")
	}
	if list.Len() == 0 {
		return Document{}, RuleDocument.At("")
	}
	for _, m := range list.Elems() {
		d.Messages = append(d.Messages, m)
	}
	return d, nil
}

// Value returns the document as JSON.
func (d Document) Value() (wire.Value, error) {
	m := wire.M{"messages": d.Messages}
	if d.Evidence.Kind() != wire.Absent {
		m["evidence"] = d.Evidence
	}
	if d.Receipt.Kind() != wire.Absent {
		m["receipt"] = d.Receipt
	}
	return wire.Encode(m)
}

// SessionID returns the session that the first message names, which is what it is
// worth: a claim.
func (d Document) SessionID() wire.SessionID {
	if len(d.Messages) == 0 {
		return ""
	}
	id, _ := d.Messages[0].Get("session_id")
	return wire.SessionID(id.Text())
}

// Check verifies the document: every message, and the receipt both by itself and
// against the transcript. Without a receipt it cannot be known that the transcript
// is whole, which the report says (SPEC §9.6.5b). The transcript returned covers
// the messages before the first that was refused.
func (d Document) Check(id wire.SessionID, keys wire.Keys, now time.Time, opts *Options, parallel Parallel) (*Transcript, wire.Report) {
	t, err := Verify(id, d.Messages, keys, now, opts, parallel)
	report := wire.Report{wire.Find("messages", false, err)}
	if d.Evidence.Kind() != wire.Absent {
		if err == nil {
			err = t.checkEvidence(d.Evidence, keys, now)
			report = append(report, wire.Find("evidence", false, err))
		} else {
			report = append(report, wire.Find("evidence", false, &wire.Unchecked{Why: "the transcript does not stand"}))
		}
	}
	if d.Receipt.Kind() == wire.Absent {
		return t, append(report, wire.Find("receipt", true, &wire.Unchecked{Why: "there is no receipt to say that the transcript is whole"}))
	}
	receipt, own := attest.Verifier{Keys: keys, Now: now}.VerifyAttestation(d.Receipt, attest.OutcomeBound())
	for i := range own {
		own[i].Check = "receipt " + own[i].Check
	}
	report = slices.Concat(report, own)
	switch {
	case receipt == nil:
		return t, append(report, wire.Skip("the receipt has no shape", ReceiptChecks()...)...)
	case err != nil:
		return t, append(report, wire.Skip("the transcript does not stand", ReceiptChecks()...)...)
	}
	return t, append(report, wire.Run(&ReceiptSubject{Receipt: receipt, Transcript: t, Now: now}, ReceiptChecks()...)...)
}

// checkEvidence verifies and records a breach.
func (t *Transcript) checkEvidence(v wire.Value, keys wire.Keys, now time.Time) error {
	u, err := wire.ReadMessage(v)
	if err != nil {
		return err
	}
	m, err := u.Verify(keys)
	if err != nil {
		return err
	}
	if err := t.Breach(m, now); err != nil {
		return RuleEvidence.Because("/evidence", err)
	}
	return nil
}
