package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/wire"
)

// An entryDraft is what the flags say of a want or a have.
type entryDraft struct {
	kind     match.Kind
	in       string
	id       string
	category string
	terms    []string
	location string
	within   float64
	life     time.Duration
	quiet    bool
}

func (d *entryDraft) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.in, "in", "", "JSON `file` with members, - for standard input")
	f.StringVar(&d.id, "id", "", "its `id`; drawn if there is none")
	f.StringVar(&d.category, "category", "", "its `category`, from the wide to the narrow, as electronics.cameras")
	f.StringArrayVar(&d.terms, "term", nil, "`NAME=VALUES` or NAME~TEXT (repeatable)")
	f.StringVar(&d.location, "location", "", "where it is, as `LAT,LNG` in degrees")
	f.Float64Var(&d.within, "within", 0, "at most so many `kilometers` from --location")
	f.DurationVar(&d.life, "for", 7*24*time.Hour, "how long it stands, unless --in says")
	f.BoolVar(&d.quiet, "quiet", false, "do not have the relay tell of new matches")
}

// entry makes the entry, signed by the agent.
func (d *entryDraft) entry(r *relayAgent) (*match.Entry, error) {
	v, err := wire.Encode(wire.M{})
	if err != nil {
		return nil, err
	}
	if d.in != "" {
		if v, err = readJSONInput(d.in); err != nil {
			return nil, err
		}
		if v.Kind() != wire.Object {
			return nil, cli.Usagef("--in %s: want a JSON object", d.in)
		}
	}
	set := func(name string, x any) {
		var member wire.Value
		if member, err = wire.Encode(x); err == nil {
			v = v.With(name, member)
		}
	}
	now := r.app.now()
	set("type", d.kind)
	set("agent_id", r.id.Agent)
	set("created_at", wire.FormatTime(now))
	if _, has := v.Get("ttl"); !has {
		set("ttl", int64(d.life/time.Second))
	}
	if d.category != "" {
		set("category", d.category)
	}
	if d.quiet {
		set("notify", false)
	}
	if d.id == "" {
		if had, _ := v.Get("id"); had.Text() != "" {
			d.id = had.Text()
		} else if d.id, err = wire.NewID[string](strings.TrimPrefix(string(d.kind), "concordia.")+"_", r.app.rand); err != nil {
			return nil, err
		}
	}
	set("id", d.id)
	if err := d.putTerms(&v); err != nil {
		return nil, err
	}
	location, err := d.readLocation()
	if err != nil {
		return nil, err
	}
	if location != nil {
		set("location", location)
	}
	if err != nil {
		return nil, cli.Usagef("%v", err)
	}
	if v, err = match.Sign(v, r.id.Key); err != nil {
		return nil, err
	}
	e, err := match.Read(v)
	if err != nil {
		return nil, cli.Exit(cli.Rejected, err)
	}
	return e, nil
}

// putTerms sets the terms of the flags.
func (d *entryDraft) putTerms(v *wire.Value) error {
	terms, ok := v.Get("terms")
	if !ok {
		terms, _ = wire.Encode(wire.M{})
	}
	for _, text := range d.terms {
		name, term, err := parseRange(text)
		if err != nil {
			return err
		}
		t, err := wire.Encode(term)
		if err != nil {
			return cli.Usagef("--term %s: %v", strconv.Quote(cut(text, 80)), err)
		}
		terms = terms.With(name, t)
	}
	*v = v.With("terms", terms)
	return nil
}

func (d *entryDraft) readLocation() (wire.M, error) {
	if d.location == "" {
		if d.within != 0 {
			return nil, cli.Usagef("--within goes with --location")
		}
		return nil, nil
	}
	lat, lng, _ := strings.Cut(d.location, ",")
	point := wire.M{}
	for name, text := range map[string]string{"lat": lat, "lng": lng} {
		degrees, err := wire.Parse([]byte(strings.TrimSpace(text)), wire.Limits{Size: 64, Depth: 1})
		if err != nil || degrees.Kind() != wire.Number {
			return nil, cli.Usagef("--location: want LAT,LNG in degrees, as 37.77,-122.42")
		}
		point[name] = degrees
	}
	name := "of"
	if d.kind == match.Have {
		name = "coordinates"
	}
	l := wire.M{name: point}
	if d.within != 0 {
		l["within_km"] = d.within
	}
	return l, nil
}

// parseRange reads a term of a want or a have: NAME~TEXT, or NAME= and a value, values with
// | between them, or two ends with .. between them, and perhaps :CUR.
func parseRange(text string) (name string, term wire.M, err error) {
	i := strings.IndexAny(text, "=~")
	if i < 1 {
		return "", nil, cli.Usagef("--term: want NAME=VALUES or NAME~TEXT, as price=1800..2500:USD or model~Canon EOS")
	}
	name, rest := text[:i], text[i+1:]
	if text[i] == '~' {
		return name, wire.M{"value": rest, "match": "fuzzy"}, nil
	}
	term = wire.M{}
	if j := strings.LastIndexByte(rest, ':'); j >= 0 && isCurrency(rest[j+1:]) {
		term["currency"], rest = rest[j+1:], rest[:j]
	}
	lo, hi, isRange := strings.Cut(rest, "..")
	switch {
	case isRange:
		for member, end := range map[string]string{"min": lo, "max": hi} {
			if end != "" {
				term[member] = scalar(end)
			}
		}
	case strings.Contains(rest, "|"):
		list := []wire.Value{}
		for each := range strings.SplitSeq(rest, "|") {
			list = append(list, scalar(each))
		}
		term["enum"] = list
	case rest != "":
		term["value"] = scalar(rest)
	}
	return name, term, nil
}

// scalar is a number, true or false, or else a text.
func scalar(text string) wire.Value {
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil || v.Kind() != wire.Number && v.Kind() != wire.Bool {
		return wire.Text(text)
	}
	return v
}
