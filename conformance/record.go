package conformance

import (
	"github.com/concordia-node/concordia/wire"
)

// judgeRecord judges a signed record. The context tells its signer.
func judgeRecord(s Subject) wire.Report {
	signer, ok := s.contextText("signer")
	if !ok {
		return unclear
	}
	_, report := s.plain().VerifyRecord(s.Artifact, wire.AgentID(signer))
	return report
}
