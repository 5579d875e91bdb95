package mutate

import (
	"slices"
	"testing"
)

func TestAll(t *testing.T) {
	var got []string
	for m := range All(`{"a":{"b/c":1},"d":["x",[true]]}`) {
		got = append(got, m.String()+" "+m.Text)
	}
	want := []string{
		`drop /a {"d":["x",[true]]}`,
		`mistype /a {"a":[],"d":["x",[true]]}`,
		`drop /a/b~1c {"a":{},"d":["x",[true]]}`,
		`mistype /a/b~1c {"a":{"b/c":"x"},"d":["x",[true]]}`,
		`drop /d {"a":{"b/c":1}}`,
		`mistype /d {"a":{"b/c":1},"d":{}}`,
		`mistype /d/0 {"a":{"b/c":1},"d":[7,[true]]}`,
		`mistype /d/1 {"a":{"b/c":1},"d":["x",{}]}`,
		`mistype /d/1/0 {"a":{"b/c":1},"d":["x",["x"]]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for range All(`[1,{"a":1}]`) {
		break // stopping early leaves the document whole
	}
}

func TestInstants(t *testing.T) {
	n := 0
	for m := range Instants(`{"a":"2026-09-14T09:30:00Z","b":["no day","2026-09-14T09:30:00.5+02:00"]}`) {
		if n++; n == 3 && m.Text != `{"a":"2026-09-14 09:30:00Z","b":["no day","2026-09-14T09:30:00.5+02:00"]}` {
			t.Error(m)
		}
	}
	if n != 24 {
		t.Errorf("%d respellings of two timestamps", n)
	}
	for range Instants(`"2026-09-14T09:30:00Z"`) {
		break
	}
}
