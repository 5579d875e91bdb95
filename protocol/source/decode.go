package source

import (
	"errors"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

var documentRE = regexp.MustCompile(`(?m)\A\s*\{|^["']?protocol["']?[ \t]*:`)

type fields = map[string]func(*node)

// DecodeDocument reads a document without compiling it.
func DecodeDocument(content string, opts *Options) (*Document, error) {
	if opts == nil {
		opts = &Options{}
	}
	t := newText(opts.Name, content)
	root, err := t.parseNode()
	if err != nil {
		return nil, err
	}
	r := &reader{text: t}
	d := &Document{text: t, places: map[string]protocol.Place{}, include: opts.Include}
	for _, m := range root.members {
		d.places[m.name+" "] = m.place
		for _, inner := range m.value.members {
			d.places[m.name+" "+inner.name] = inner.place
		}
	}
	r.document(root, d)
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	return d, nil
}

// ReadBind reads a document of its own with the members bind and polarity of a text, as
// they stand in the document form, for [Options].
func ReadBind(content, name string) (bind map[string]string, polarity Polarity, err error) {
	t := newText(name, content)
	root, err := t.parseNode()
	if err != nil {
		return nil, "", err
	}
	r := &reader{text: t}
	bind = map[string]string{}
	r.fields(root, r.binding(bind, &polarity), "bind")
	return bind, polarity, errors.Join(r.faults...)
}

func (r *reader) binding(bind map[string]string, polarity *Polarity) fields {
	return fields{
		"bind": func(n *node) {
			r.each(n, func(label string, _ protocol.Place, n *node) { bind[label] = r.string(n) })
		},
		"polarity": func(n *node) { *polarity = oneOf(r, n, FromToolHost) },
	}
}

func (r *reader) document(n *node, d *Document) {
	required := []string{"protocol", "states", "initial"}
	if n.kind == mapping && n.get("dsl") != nil {
		required = []string{"protocol"}
	}
	bind := map[string]string{}
	known := r.binding(bind, &d.Polarity)
	maps.Copy(known, fields{
		"protocol": func(n *node) { oneOf(r, n, Format) },
		"id":       r.into(&d.ID), "version": r.into(&d.Version), "title": r.into(&d.Title),
		"extends": r.into(&d.Extends), "pressure": r.into(&d.Pressure),
		"roles": func(n *node) {
			r.list(n, func(n *node) { d.Roles = append(d.Roles, protocol.Role(r.string(n))) })
		},
		"tools":     func(n *node) { r.tools(n, d) },
		"approvals": func(n *node) { r.approvals(n, d) },
		"captures":  func(n *node) { r.captures(n, d) },
		"timers":    func(n *node) { r.timers(n, d) },
		"budgets":   func(n *node) { d.Budget = r.budget(n, d) },
		"instances": func(n *node) {
			d.Instance = &protocol.Instance{}
			r.fields(n, fields{"key": r.pointer(&d.Instance.Key), "scope": r.strings(&d.Instance.Scope)}, "key", "scope")
		},
		"invariants": func(n *node) { r.list(n, func(n *node) { d.Invariants = append(d.Invariants, r.invariant(n)) }) },
		"unrecognized": func(n *node) {
			d.Unrecognized = oneOf(r, n, protocol.Block, protocol.Pass, protocol.PassIfRead)
		},
		"initial": func(n *node) { d.Initial = protocol.State(r.string(n)) },
		"states": func(n *node) {
			r.each(n, func(name string, place protocol.Place, n *node) {
				d.States = append(d.States, r.state(protocol.State(name), place, n))
			})
		},
		"dsl": r.into(&d.DSL),
	})
	r.fields(n, known, required...)
	if len(bind) > 0 {
		d.Bind = bind
	}
	if d.DSL != "" && (d.States != nil || d.Initial != "") {
		r.fail(CodeValue, n.place, "either the states are written as dsl, or as initial and states")
	}
	if d.DSL == "" && (d.Bind != nil || d.Polarity != "") {
		r.fail(CodeValue, n.place, "bind and polarity are for a dsl")
	}
}

// into returns a function that reads a text.
func (r *reader) into(to *string) func(*node) { return func(n *node) { *to = r.string(n) } }

// pointer returns a function that reads a JSON pointer.
func (r *reader) pointer(to *protocol.Pointer) func(*node) {
	return func(n *node) {
		s := r.string(n)
		if s != "" && !isPointer(s) {
			r.fail(CodeValue, n.place, "%q is no JSON pointer: it begins with a slash, and ~ is written ~0", cut(s))
		}
		*to = protocol.Pointer(s)
	}
}

// strings returns a function that reads a list of texts, none of them twice.
func (r *reader) strings(to *[]string) func(*node) {
	return func(n *node) {
		seen := map[string]bool{}
		r.list(n, func(n *node) {
			s := r.string(n)
			if seen[s] {
				r.fail(CodeDuplicate, n.place, "%q is there already", cut(s))
			}
			seen[s] = true
			*to = append(*to, s)
		})
	}
}

// duration returns a function that reads a time such as 90s, 10m or 24h.
func (r *reader) duration(to *time.Duration) func(*node) {
	return func(n *node) {
		s := r.string(n)
		x, err := time.ParseDuration(s)
		if s != "" && (err != nil || x <= 0) {
			r.fail(CodeValue, n.place, "%q is no time; write 90s, 10m or 24h", cut(s))
		}
		*to = x
	}
}

func (r *reader) tools(n *node, d *Document) {
	d.Tools = map[string]protocol.Tool{}
	r.each(n, func(name string, place protocol.Place, n *node) {
		if name == "*" {
			oneOf(r, n, "deny") // what is not listed is refused, and "unrecognized" says otherwise
			return
		}
		var t protocol.Tool
		r.fields(n, fields{
			"effect":      func(n *node) { t.Effect = oneOf(r, n, protocol.Reads, protocol.Writes, protocol.Irreversible) },
			"approval":    r.into(&t.Approval),
			"idempotency": r.pointer(&t.Idempotency),
			"probe":       r.into(&t.Probe),
		})
		d.Tools[name] = t
	})
}

func (r *reader) approvals(n *node, d *Document) {
	d.Approvals = map[string]protocol.Approval{}
	r.each(n, func(name string, place protocol.Place, n *node) {
		var a protocol.Approval
		r.fields(n, fields{
			"by": r.strings(&a.By), "ttl": r.duration(&a.TTL),
			"uses":      func(n *node) { a.Uses = int(min(r.positive(n), 1<<20)) },
			"assurance": func(n *node) { a.Assurance = oneOf(r, n, "client", "key") },
			"bind": func(n *node) {
				r.list(n, func(n *node) {
					// What every approval is bound to may be written, too.
					switch s := oneOf(r, n, "tool", "arguments", "instance", "state", "session"); s {
					case "", "tool", "arguments":
					default:
						a.Bind = append(a.Bind, s)
					}
				})
			},
			"when": func(n *node) { a.When = r.condition(n) },
			"amount": func(n *node) {
				r.fields(n, fields{"value": r.pointer(&a.Amount), "currency": r.pointer(&a.Currency)}, "value", "currency")
			},
			"show": func(n *node) {
				r.list(n, func(n *node) {
					var p protocol.Pointer
					r.pointer(&p)(n)
					a.Show = append(a.Show, p)
				})
			},
		})
		d.Approvals[name] = a
	})
}

func (r *reader) captures(n *node, d *Document) {
	d.Captures = map[string]Capture{}
	r.each(n, func(name string, place protocol.Place, n *node) {
		c := Capture{place: place}
		r.fields(n, fields{"from": r.into(&c.From), "at": r.pointer(&c.At), "each": r.into(&c.Each)}, "from", "at")
		d.Captures[name] = c
	})
}

func (r *reader) timers(n *node, d *Document) {
	d.Timers = map[string]Timer{}
	r.each(n, func(name string, place protocol.Place, n *node) {
		t := Timer{place: place}
		r.fields(n, fields{
			"after": r.duration(&t.After),
			"in":    func(n *node) { t.In = protocol.State(r.string(n)) },
			"to":    func(n *node) { t.To = protocol.State(r.string(n)) },
		}, "after")
		d.Timers[name] = t
	})
}

// budget reads a budget; d is nil for that of a state, which has no reserve and no
// strikes.
func (r *reader) budget(n *node, d *Document) (b protocol.Budget) {
	known := r.limits(&b)
	if d != nil {
		known["strikes"] = func(n *node) { b.Strikes = r.positive(n) }
		known["reserve"] = func(n *node) {
			inner := r.limits(&d.Reserve)
			delete(inner, "wall") // time cannot be kept back
			inner["for"] = r.strings(&d.ReserveFor)
			r.fields(n, inner, "for")
		}
	}
	r.fields(n, known)
	return b
}

func (r *reader) limits(b *protocol.Budget) fields {
	return fields{
		"calls":        func(n *node) { b.Calls = r.positive(n) },
		"result_bytes": func(n *node) { b.Bytes = r.positive(n) },
		"tokens":       func(n *node) { b.Tokens = r.positive(n) },
		"wall":         r.duration(&b.Wall),
		"money": func(n *node) {
			b.Money = map[string]string{}
			r.each(n, func(currency string, _ protocol.Place, n *node) {
				s := r.string(n)
				if strings.Trim(s, "0123456789.") != "" || strings.Count(s, ".") > 1 || strings.Trim(s, ".") == "" || len(s) > 40 {
					r.fail(CodeValue, n.place, "an amount is a decimal number in quotes, such as \"500.00\"")
				}
				b.Money[currency] = s
			})
		},
	}
}

func (r *reader) invariant(n *node) (i protocol.Invariant) {
	label := func(to *protocol.Label) func(*node) { return func(n *node) { *to = protocol.Label(r.string(n)) } }
	r.fields(n, fields{
		"precedes": func(n *node) {
			i.Precedes = &protocol.Precedes{}
			r.fields(n, fields{
				"first": label(&i.Precedes.First), "then": label(&i.Precedes.Then),
				"each": func(n *node) { i.Precedes.Each = r.bool(n) },
			}, "first", "then")
		},
		"at_most": func(n *node) {
			i.AtMost = &protocol.AtMost{}
			r.fields(n, fields{
				"label": label(&i.AtMost.Label),
				"n":     func(n *node) { i.AtMost.N = int(min(r.positive(n), 1<<20)) },
				"per":   func(n *node) { i.AtMost.Per = oneOf(r, n, "instance") },
			}, "label", "n")
		},
		"never_after": func(n *node) {
			i.NeverAfter = &protocol.NeverAfter{}
			r.fields(n, fields{"label": label(&i.NeverAfter.Label), "after": label(&i.NeverAfter.After)}, "label", "after")
		},
		"requires": func(n *node) {
			i.Requires = &protocol.Requires{}
			r.fields(n, fields{"label": label(&i.Requires.Label)}, "label")
		},
		"between": func(n *node) {
			i.Between = &protocol.Between{}
			r.fields(n, fields{"label": label(&i.Between.Label), "from": label(&i.Between.From), "to": label(&i.Between.To)}, "label", "from", "to")
		},
	})
	if n.kind == mapping && len(n.members) != 1 {
		r.fail(CodeValue, n.place, "an invariant is one of precedes, at_most, never_after, requires, between")
	}
	return i
}

func (r *reader) state(name protocol.State, place protocol.Place, n *node) State {
	s := State{Name: name, place: place}
	if n.kind == scalar && n.value.Kind() == wire.Null {
		return s // "done:" is a state in which nothing happens
	}
	r.fields(n, fields{
		"allow": func(n *node) { r.list(n, func(n *node) { s.Allow = append(s.Allow, r.allow(n)) }) },
		"on":    func(n *node) { r.list(n, func(n *node) { s.On = append(s.On, r.rules(n)...) }) },
		"parallel": func(n *node) {
			oneOf(r, n, "read")
			s.Parallel = true
		},
		"budget":   func(n *node) { s.Budget = r.budget(n, nil) },
		"guidance": r.into(&s.Guidance), "public": r.into(&s.Public),
		"end": func(n *node) { s.End = oneOf(r, n, protocol.Success, protocol.Failure, protocol.Abandoned) },
	})
	return s
}

func (r *reader) allow(n *node) Allow {
	a := Allow{place: n.place}
	if n.kind != mapping {
		a.Tool = r.string(n)
		return a
	}
	r.fields(n, fields{
		"tool": r.into(&a.Tool),
		"when": func(n *node) { a.When = r.condition(n) },
		"if":   func(n *node) { a.If = protocol.Guard(r.string(n)) },
	}, "tool")
	return a
}

// rules reads one entry of "on": an event or several, by one role or several, and
// where they lead.
func (r *reader) rules(n *node) (list []Rule) {
	var events []string
	var outcomes []string
	var kind string
	var roles []protocol.Role
	one := Rule{place: n.place}
	var otherwise protocol.State
	known := fields{
		"outcome": func(n *node) {
			r.oneOrMore(n, func(n *node) { outcomes = append(outcomes, oneOf(r, n, Outcomes...)) })
		},
		"by": func(n *node) {
			r.oneOrMore(n, func(n *node) { roles = append(roles, protocol.Role(r.string(n))) })
		},
		"when": func(n *node) { one.When = r.condition(n) },
		"if":   func(n *node) { one.If = protocol.Guard(r.string(n)) },
		"to":   func(n *node) { one.To = protocol.State(r.string(n)) },
		"else": func(n *node) { otherwise = protocol.State(r.string(n)) },
	}
	for k := range eventRoles {
		known[k] = func(n *node) {
			if kind != "" {
				r.fail(CodeValue, n.place, "a rule has one kind of event, and this one has %s and %s", kind, k)
			}
			kind = k
			r.oneOrMore(n, func(n *node) { events = append(events, k+" "+r.string(n)) })
		}
	}
	delete(known, "call") // which states allow
	r.fields(n, known)
	switch {
	case n.kind != mapping:
		return nil
	case kind == "":
		r.fail(CodeMissing, n.place, "the rule has no event: ret, hear, answer, signal, timer, say, handoff, ask, grant, deny, expire or event")
	case outcomes != nil && kind != "ret":
		r.fail(CodeValue, n.place, "only a result has an outcome")
	case one.To == "" && otherwise == "":
		r.fail(CodeMissing, n.place, "the rule leads nowhere: \"to\" names a state, or stay, or refuse")
	case one.To == "" && (one.When != nil || one.If != ""):
		r.fail(CodeMissing, n.place, "the rule says only where it leads otherwise; \"to\" is missing")
	}
	if kind == "ret" {
		if outcomes == nil {
			outcomes = []string{"ok"}
		}
		var all []string
		for _, e := range events {
			for _, o := range outcomes {
				all = append(all, e+" "+o)
			}
		}
		events = all
	}
	if roles == nil {
		roles = []protocol.Role{""}
	}
	for _, e := range events {
		for _, by := range roles {
			rule := one
			rule.On, rule.By = e, by
			if one.To != "" {
				list = append(list, rule)
			}
			if otherwise != "" {
				rule.When, rule.If, rule.To = nil, "", otherwise
				list = append(list, rule)
			}
		}
	}
	return list
}
