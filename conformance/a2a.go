package conformance

import (
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// judgeA2APart judges a message in an A2A data part. The context lists the
// active_extensions; anything but a list of strings activates nothing.
func judgeA2APart(s Subject) wire.Report {
	var active []string
	listed, _ := s.Context.Get("active_extensions")
	for _, v := range listed.Elems() {
		if v.Kind() != wire.String {
			active = nil
			break
		}
		active = append(active, v.Text())
	}
	m, err := a2a.Read(s.Artifact, active)
	report := wire.Report{wire.Find("part", false, err)}
	if err != nil {
		return append(report, wire.Find("signature", false, &wire.Unchecked{Why: "there is no message"}))
	}
	_, err = m.Verify(s.Keys)
	return append(report, wire.Find("signature", false, err))
}
