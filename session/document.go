package session

import (
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A Document is a transcript as a file: {"messages": […], "receipt": {…}}, the
// receipt being optional (SPEC §9.3).
type Document struct {
	Messages []wire.Value
	Receipt  wire.Value // absent if there is none
}

// ruleDocument names the shape of a transcript file.
var ruleDocument = &wire.Rule{Section: "9.3", Name: "transcript-file", Class: wire.ClassSchema, Text: "a transcript is an object with messages, and perhaps a receipt, or an array of messages; it has at least one"}

// ReadDocument reads a transcript file. An array of messages will do.
func ReadDocument(v wire.Value) (Document, error) {
	list := v
	var d Document
	if v.Kind() == wire.Object {
		r := wire.Read(v, "", ruleDocument)
		list = r.Array("messages")
		if r.Has("receipt") {
			d.Receipt = r.Object("receipt").Whole()
		}
		if err := r.Err(); err != nil {
			return Document{}, err
		}
	} else if v.Kind() != wire.Array {
		return Document{}, ruleDocument.At("")
	}
	if list.Len() == 0 {
		return Document{}, ruleDocument.At("")
	}
	for _, m := range list.Elems() {
		d.Messages = append(d.Messages, m)
	}
	return d, nil
}

// Value returns the document as JSON.
func (d Document) Value() (wire.Value, error) {
	m := wire.M{"messages": d.Messages}
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
	if d.Receipt.Kind() == wire.Absent {
		return t, append(report, wire.Find("receipt", true, &wire.Unchecked{Why: "there is no receipt to say that the transcript is whole"}))
	}
	receipt, own := attest.VerifyAttestation(d.Receipt, keys, now, nil, attest.OutcomeBound())
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
