package match_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/wire"
)

// entry makes an entry of its members but for type, agent and ttl.
func text(kind, id, agent, members string) string {
	return fmt.Sprintf(`{"type":"concordia.%s","id":"%[1]s_%s","agent_id":"%s","ttl":604800,%s}`, kind, id, agent, members)
}

func entry(tb testing.TB, kind, id, agent, members string) *match.Entry {
	tb.Helper()
	e, err := match.Parse([]byte(text(kind, id, agent, members)))
	if err != nil {
		tb.Fatalf("%s %s: %v", kind, members, err)
	}
	return e
}

const camera = `"category":"electronics.cameras.mirrorless","terms":`

// SPEC §7.3: what two entries have in common, and how good that is.
func TestBetween(t *testing.T) {
	in := func(category, rest string) string { return fmt.Sprintf(`"category":"%s",%s`, category, rest) }
	terms := func(t string) string { return in("a", `"terms":{"t":`+t+`}`) }
	for _, test := range []struct {
		name, want, have string
		score            float64 // 0: no match
		overlap          string
	}{
		{"the published example",
			camera + `{"item":{"match":"fuzzy","value":"Canon EOS R5 or equivalent full-frame mirrorless"},"price":{"max":2500.00,"currency":"USD"},
				"condition":{"min":"good","enum":["new","like_new","good","fair","poor"]}},"location":{"within_km":50,"of":{"lat":37.7749,"lng":-122.4194}}`,
			camera + `{"item":{"value":"Canon EOS R5","description":"no damage"},"price":{"min":1800.00,"currency":"USD"},"condition":{"value":"like_new"}},
				"location":{"coordinates":{"lat":37.7849,"lng":-122.4094}}`,
			0.9064, `{"_location":{"distance_km":1.417,"quality":0.9858},"condition":{"meets_minimum":true,"quality":1,"value":"like_new"},
				"item":{"have_value":"Canon EOS R5","match_type":"fuzzy","quality":1,"want_value":"Canon EOS R5 or equivalent full-frame mirrorless"},
				"price":{"currency":"USD","quality":0.64,"range":[1800,2500]}}`},
		{"no common price", terms(`{"max":10}`), terms(`{"min":10.01}`), 0, ""},
		{"one common price", terms(`{"max":10}`), terms(`{"min":10}`), 0.5, `{"t":{"quality":0.5,"range":[10,10]}}`},
		{"all the way from zero", terms(`{"max":10}`), terms(`{"min":0}`), 1, `{"t":{"quality":1,"range":[0,10]}}`},
		{"both limits of the have", terms(`{"max":10}`), terms(`{"min":8,"max":9}`), 0.5556, `{"t":{"quality":0.5556,"range":[8,9]}}`},
		{"both limits of the want", terms(`{"min":5,"max":10}`), terms(`{"max":4}`), 0, ""},
		{"a range on one side only", terms(`{"min":5}`), terms(`{"min":4}`), 1, `{"t":{"min":5,"quality":1}}`},
		{"extreme limits", terms(`{"min":-1.7e308,"max":1.7e308}`), terms(`{"min":-1.7e308,"max":1.7e308}`), 1, `{"t":{"quality":1,"range":[-1.7e+308,1.7e+308]}}`},
		{"a value in a range", terms(`{"max":10}`), terms(`{"value":9}`), 1, `{"t":{"quality":1,"value":9}}`},
		{"a value outside of a range", terms(`{"max":10}`), terms(`{"value":5000}`), 0, ""},
		{"a value, and a range around it", terms(`{"max":95}`), terms(`{"value":100,"min":90}`), 0.5263, `{"t":{"quality":0.5263,"range":[90,95]}}`},
		{"text in a range", terms(`{"max":10}`), terms(`{"value":"ten"}`), 0, ""},
		{"a value with a limit that is a number", terms(`{"min":1}`), terms(`{"value":"good"}`), 0, ""},
		{"other forms", terms(`{"max":10}`), terms(`{"min":"2026-01-01"}`), 0, ""},
		{"dates", terms(`{"max":"2026-12-31"}`), terms(`{"min":"2026-06-01"}`), 1, `{"t":{"quality":1,"range":["2026-06-01","2026-12-31"]}}`},
		{"equal values", terms(`{"value":"red"}`), terms(`{"value":"red"}`), 1, `{"t":{"quality":1,"value":"red"}}`},
		{"different values", terms(`{"value":"red"}`), terms(`{"value":"blue"}`), 0, ""},
		{"equal numbers in two spellings", terms(`{"value":1.50}`), terms(`{"value":1.5}`), 1, `{"t":{"quality":1,"value":1.5}}`},
		{"listed values", terms(`{"enum":["a","b","c"]}`), terms(`{"enum":["b","c","d","e"]}`), 0.6666, `{"t":{"enum":["b","c"],"quality":0.6666}}`},
		{"no listed value", terms(`{"enum":["a","b"]}`), terms(`{"enum":["c"]}`), 0, ""},
		{"a better grade", terms(`{"min":"good"}`), terms(`{"value":"new"}`), 1, `{"t":{"meets_minimum":true,"quality":1,"value":"new"}}`},
		{"a worse grade", terms(`{"min":"good"}`), terms(`{"value":"fair"}`), 0, ""},
		{"a grade that is none", terms(`{"min":"good"}`), terms(`{"value":"mint"}`), 0, ""},
		{"another currency", terms(`{"max":10,"currency":"USD"}`), terms(`{"min":0,"currency":"EUR"}`), 0, ""},
		{"a currency that one does not say", terms(`{"max":10,"currency":"USD"}`), terms(`{"min":0}`), 0.5, `{"t":{"currency":"USD","quality":0.5,"range":[0,10]}}`},
		{"another unit", terms(`{"max":10,"unit":"kg"}`), terms(`{"min":0,"unit":"lb"}`), 0, ""},
		{"similar texts", terms(`{"value":"Canon EOS","match":"fuzzy"}`), terms(`{"value":"canon, R5"}`), 0.5,
			`{"t":{"have_value":"canon, R5","match_type":"fuzzy","quality":0.5,"want_value":"Canon EOS"}}`},
		{"texts of nothing in common", terms(`{"value":"Canon EOS","match":"fuzzy"}`), terms(`{"value":"banana"}`), 0, ""},
		{"a term of one side", terms(`{"max":10}`), in("a", `"terms":{}`), 0.4, `{}`},
		{"nothing but a category", in("a", `"terms":{}`), in("a", `"terms":{}`), 0.4, `{}`},
		{"a term that says nothing", terms(`{}`), terms(`{"value":1}`), 1, `{"t":{"quality":1,"value":1}}`},
		{"a category above", in("a.b", `"terms":{"t":{"value":1}}`), terms(`{"value":1}`), 0.75, `{"t":{"quality":1,"value":1}}`},
		{"a category beside", in("a.b", `"terms":{}`), in("a.c", `"terms":{}`), 0, ""},
		{"a category that begins alike", in("a", `"terms":{}`), in("ab", `"terms":{}`), 0, ""},
		{"too far", in("a", `"terms":{},"location":{"within_km":5,"lat":0,"lng":0}`), in("a", `"terms":{},"location":{"lat":0,"lng":0.1}`), 0, ""},
		{"too far for the have", in("a", `"terms":{},"location":{"lat":0,"lng":0}`), in("a", `"terms":{},"location":{"within_km":5,"lat":0,"lng":0.1}`), 0, ""},
		{"as far as the radius", in("a", `"terms":{},"location":{"within_km":111.195,"lat":0,"lng":7}`), in("a", `"terms":{},"location":{"lat":1,"lng":7}`),
			0.5, `{"_location":{"distance_km":111.195,"quality":0.5}}`},
		{"a meter too far", in("a", `"terms":{},"location":{"within_km":111.194,"lat":0,"lng":7}`), in("a", `"terms":{},"location":{"lat":1,"lng":7}`), 0, ""},
		{"across the date line", in("a", `"terms":{},"location":{"within_km":30,"lat":0,"lng":179.9}`), in("a", `"terms":{},"location":{"lat":0,"lng":-179.9}`),
			0.6293, `{"_location":{"distance_km":22.239,"quality":0.6293}}`},
		{"the other end of the earth", in("a", `"terms":{},"location":{"within_km":20038,"lat":90,"lng":0}`), in("a", `"terms":{},"location":{"lat":-90,"lng":180}`),
			0.5006, `{"_location":{"distance_km":20015.087,"quality":0.5006}}`},
		{"a location of one side", in("a", `"terms":{},"location":{"within_km":5,"lat":0,"lng":0}`), in("a", `"terms":{}`), 0.4, `{}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			want, have := entry(t, "want", "w", "alice", test.want), entry(t, "have", "h", "bob", test.have)
			m, n := match.Between(want, have), match.Between(have, want)
			if m == nil || n == nil {
				if test.score != 0 || m != nil || n != nil {
					t.Errorf("Between = %v, %v, want %v", m, n, test.score)
				}
				return
			}
			if m.Score != test.score || n.Score != test.score {
				t.Errorf("score = %v, %v, want %v", m.Score, n.Score, test.score)
			}
			overlap, err := wire.Parse([]byte(test.overlap), wire.DocumentLimits)
			if err != nil || !m.Overlap.Equal(overlap) {
				t.Errorf("overlap = %s, want %s", m.Overlap, test.overlap)
			}
			if !m.Value().Equal(n.Value()) {
				t.Errorf("a match depends on the order: %s and %s", m.Value(), n.Value())
			}
			if back, err := match.ReadMatch(m.Value()); err != nil || !back.Value().Equal(m.Value()) {
				t.Errorf("ReadMatch(%s) = %v, %v", m.Value(), back, err)
			}
		})
	}
}

// Nobody deals with itself, and two wants are no match.
func TestNoMatch(t *testing.T) {
	w, h := entry(t, "want", "w", "alice", `"category":"a","terms":{}`), entry(t, "have", "h", "alice", `"category":"a","terms":{}`)
	if match.Score(w, h) != 0 {
		t.Error("an agent matches itself")
	}
	if match.Score(w, entry(t, "want", "v", "bob", `"category":"a","terms":{}`)) != 0 {
		t.Error("two wants match")
	}
}

// SPEC §7.1: what is no entry is refused when it is read, and says where.
func TestParseRefuses(t *testing.T) {
	good := text("want", "w", "alice", `"category":"a.b","terms":{"t":{"max":1}},"location":{"within_km":1,"of":{"lat":1,"lng":1}},"created_at":"2026-09-14T09:00:00Z"`)
	if _, err := match.Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	many := func(n int, each string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(each, i)
		}
		return strings.Join(list, ",")
	}
	for _, test := range []struct {
		name, old, new string
		rule           *wire.Rule
		at             string
	}{
		{"no object", good, `[]`, match.RuleEntry, ""},
		{"another type", `concordia.want"`, `concordia.wish"`, match.RuleEntry, "/type"},
		{"a member in other letters", `"ttl"`, `"TTL":1,"ttl"`, match.RuleEntry, "/TTL"},
		{"an id of the other kind", `"want_w"`, `"have_w"`, match.RuleEntry, "/id"},
		{"no agent", `"agent_id":"alice",`, ``, match.RuleEntry, "/agent_id"},
		{"no ttl", `"ttl":604800,`, ``, match.RuleEntry, "/ttl"},
		{"ttl of zero", `604800`, `0`, match.RuleEntry, "/ttl"},
		{"ttl of years", `604800`, `99999999999`, match.RuleEntry, "/ttl"},
		{"signed without a time", `,"created_at":"2026-09-14T09:00:00Z"`, `,"signature":"x"`, match.RuleEntry, "/created_at"},
		{"signed with a member of something else", `"ttl"`, `"signature":"x","prev_hash":"x","ttl"`, match.RuleEntry, "/prev_hash"},
		{"a signature that is no text", `"ttl"`, `"signature":1,"ttl"`, match.RuleEntry, "/signature"},
		{"an empty category", `"a.b"`, `""`, match.RuleCategory, "/category"},
		{"an empty word", `"a.b"`, `"a..b"`, match.RuleCategory, "/category"},
		{"a category in capitals", `"a.b"`, `"A.b"`, match.RuleCategory, "/category"},
		{"a deep category", `"a.b"`, `"a.b.c.d.e.f.g.h.i"`, match.RuleCategory, "/category"},
		{"a long word", `"a.b"`, `"` + strings.Repeat("a", 65) + `"`, match.RuleCategory, "/category"},
		{"no terms", `{"t":{"max":1}}`, `null`, match.RuleEntry, "/terms"},
		{"too many terms", `"t":{"max":1}`, many(33, `"t%d":{}`), match.RuleEntry, "/terms"},
		{"too large", `{"max":1}`, `{"note":"` + strings.Repeat("x", match.MaxSize) + `"}`, wire.RuleSize, ""},
		{"a term that is a value", `{"max":1}`, `1`, match.RuleTerm, "/terms/t"},
		{"the name of the location", `"t":`, `"_location":`, match.RuleTerm, "/terms/_location"},
		{"an end that is text", `{"max":1}`, `{"max":"one"}`, match.RuleTerm, "/terms/t/max"},
		{"ends in no order", `{"max":1}`, `{"min":2,"max":1}`, match.RuleTerm, "/terms/t/max"},
		{"ends of two forms", `{"max":1}`, `{"min":"2026","max":1}`, match.RuleTerm, "/terms/t/max"},
		{"an empty enum", `{"max":1}`, `{"enum":[]}`, match.RuleTerm, "/terms/t/enum"},
		{"a long enum", `{"max":1}`, `{"enum":[` + many(65, "%d") + `]}`, match.RuleTerm, "/terms/t/enum"},
		{"an enum without what the ends leave", `{"max":1}`, `{"min":"good","enum":["fair","poor"]}`, match.RuleTerm, "/terms/t/enum"},
		{"null in an enum", `{"max":1}`, `{"enum":[null]}`, match.RuleTerm, "/terms/t/enum"},
		{"a value outside", `{"max":1}`, `{"max":1,"value":2}`, match.RuleTerm, "/terms/t/value"},
		{"a long value", `{"max":1}`, `{"value":"` + strings.Repeat("x", 1001) + `"}`, match.RuleTerm, "/terms/t/value"},
		{"a currency with a control character", `{"max":1}`, `{"currency":"U\u0001"}`, match.RuleTerm, "/terms/t/currency"},
		{"an empty unit", `{"max":1}`, `{"unit":""}`, match.RuleTerm, "/terms/t/unit"},
		{"another match", `{"max":1}`, `{"value":"x","match":"magic"}`, match.RuleTerm, "/terms/t/match"},
		{"fuzzy numbers", `{"max":1}`, `{"value":1,"match":"fuzzy"}`, match.RuleTerm, "/terms/t/match"},
		{"fuzzy bounds", `{"max":1}`, `{"max":1,"match":"fuzzy"}`, match.RuleTerm, "/terms/t/match"},
		{"not a number", `"within_km":1`, `"within_km":NaN`, wire.RuleSyntax, "/location/within_km"},
		{"beyond all numbers", `"within_km":1`, `"within_km":1e999`, wire.RuleNumber, "/location/within_km"},
		{"a radius of nothing", `"within_km":1`, `"within_km":0`, match.RuleLocation, "/location/within_km"},
		{"a radius beyond the earth", `"within_km":1`, `"within_km":20039`, match.RuleLocation, "/location/within_km"},
		{"a radius in words", `"within_km":1`, `"within_km":"far"`, match.RuleLocation, "/location/within_km"},
		{"beyond the pole", `"lat":1`, `"lat":90.1`, match.RuleLocation, "/location/of/lat"},
		{"beyond the date line", `"lng":1`, `"lng":-180.1`, match.RuleLocation, "/location/of/lng"},
		{"half a point", `"lat":1,`, ``, match.RuleLocation, "/location/of/lat"},
		{"two points", `"of":`, `"lat":1,"lng":1,"of":`, match.RuleLocation, "/location"},
		{"no point", `,"of":{"lat":1,"lng":1}`, ``, match.RuleLocation, "/location"},
		{"twice the same name", `"ttl"`, `"ttl":1,"ttl"`, wire.RuleDuplicate, "/ttl"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(good, test.old) {
				t.Fatalf("the good entry has no %s", test.old)
			}
			_, err := match.Parse([]byte(strings.Replace(good, test.old, test.new, 1)))
			v, ok := errors.AsType[*wire.Violation](err)
			if !ok || v.Rule != test.rule || v.At != test.at {
				t.Errorf("Parse = %v, want %s at %q", err, test.rule.Name, test.at)
			}
		})
	}
}

// A signature covers all of an entry. Another key's, or of other bytes, is none.
func TestSignature(t *testing.T) {
	key := func(name string) wire.PrivateKey {
		k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	plain := entry(t, "want", "w", "alice", `"category":"a","terms":{},"created_at":"2026-09-14T09:00:00Z"`)
	v, err := match.Sign(plain.Value(), key("alice"))
	if err != nil {
		t.Fatal(err)
	}
	keys := wire.KeyMap{"alice": key("alice").Public()}
	read := func(v wire.Value) *match.Entry {
		e, err := match.Read(v)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := read(v); !e.IsSigned() || e.Verify(keys) != nil {
		t.Errorf("Verify = %v", e.Verify(keys))
	}
	if plain.IsSigned() || !errors.Is(plain.Verify(keys), match.RuleSignature) {
		t.Errorf("unsigned: %v", plain.Verify(keys))
	}
	if err := read(v.With("category", wire.Text("b"))).Verify(keys); !errors.Is(err, match.RuleSignature) {
		t.Errorf("another category: %v", err)
	}
	if err := read(v).Verify(wire.KeyMap{"alice": key("bob").Public()}); !errors.Is(err, match.RuleSignature) {
		t.Errorf("another key: %v", err)
	}
	if err := read(v).Verify(wire.KeyMap{}); !errors.Is(err, wire.RuleUnknownKey) {
		t.Errorf("no key: %v", err)
	}
}
