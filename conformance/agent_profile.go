package conformance

import (
	"github.com/concordia-node/concordia/wire"
)

// judgeAgentProfile judges an agent's capability profile. The context says nothing.
func judgeAgentProfile(s Subject) wire.Report {
	_, report := s.plain().VerifyProfile(s.Artifact)
	return report
}
