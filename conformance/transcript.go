package conformance

import (
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// judgeTranscript judges {"messages": […], "receipt": {…}}. The context gives the
// session_id and the parties with their roles.
func judgeTranscript(s Subject) wire.Report {
	doc, err := session.ReadDocument(s.Artifact)
	if err != nil {
		return wire.Report{wire.Find("read", false, err)}
	}
	id := doc.SessionID()
	if v, ok := s.Context.Get("session_id"); ok {
		id = wire.SessionID(v.Text())
	}
	_, report := doc.Check(id, s.Keys, s.Now, &session.Options{Parties: s.parties(), Import: true}, nil)
	return report
}
