package relay_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
)

// What a relay publishes of its limits can be given to another.
func TestParseLimits(t *testing.T) {
	want := relay.DefaultLimits()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := relay.ParseLimits(text); err != nil || got != want {
		t.Errorf("ParseLimits(%s) = %+v, %v", text, got, err)
	}
	some := relay.Limits{FreeSpace: 1, Retention: relay.Span(time.Minute)}
	if got, err := relay.ParseLimits([]byte(` {"free_bytes": 1, "retention_seconds": 60} `)); err != nil || got != some {
		t.Errorf("ParseLimits of two = %+v, %v", got, err)
	}
	if got, err := relay.ParseLimits([]byte(`{}`)); err != nil || got != (relay.Limits{}) {
		t.Errorf("ParseLimits of none = %+v, %v", got, err)
	}
	for _, text := range []string{
		``, `null`, `[]`, `7`, `{`, `{"agents": 0}`, `{"agents": -1}`, `{"agents": 1.5}`, `{"agents": "7"}`, `{"agents": null}`, `{"agents": [7]}`,
		`{"agents": 7, "agents": 8}`, `{"agents": 99999999999999999999}`, `{"Agents": 7}`, `{"": 7}`, `{"retention_seconds": 9007199254740991}`,
		`{"agents": 7} {}`, `{"agents": {"agents": 7}}`,
	} {
		if got, err := relay.ParseLimits([]byte(text)); err == nil {
			t.Errorf("ParseLimits(%s) = %+v", text, got)
		}
	}
}
