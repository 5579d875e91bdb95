package conformance

import (
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// judgeTranscript judges {"messages": […], "receipt": {…}}. The context gives the
// session_id and the parties with their roles. It is read as the reference
// implementation makes it, unless import says otherwise.
func judgeTranscript(s Subject) wire.Report {
	doc, err := session.ReadDocument(s.Artifact)
	if err != nil {
		return wire.Report{wire.Find("read", false, err)}
	}
	id := doc.SessionID()
	if v, ok := s.Context.Get("session_id"); ok {
		id = wire.SessionID(v.Text())
	}
	reference := true
	if v, _ := s.Context.Get("import"); v.Kind() == wire.Bool {
		reference = v.Bool()
	} else if v.Kind() != wire.Absent && v.Kind() != wire.Null {
		return unclear
	}
	_, report := doc.Check(id, s.Keys, s.Now, &session.Options{Parties: s.parties(), Import: reference}, nil)
	return report
}

// judgeMessage judges one message by itself: its envelope and its signature.
func judgeMessage(s Subject) wire.Report {
	u, err := wire.ReadMessage(s.Artifact)
	if err == nil {
		_, err = u.Verify(s.Keys)
	}
	return wire.Report{wire.Find("message", false, err)}
}
