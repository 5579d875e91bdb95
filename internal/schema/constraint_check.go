package schema

import "fmt"

// An evaluation checks one instance against one constraint and counts its steps.
// Once none are left every check is false at once, and the result says nothing.
type evaluation struct {
	doc    *document
	left   int // steps; negative: the budget ran out
	frames int // of check, inside one another
	trial  int // not zero: a misfit is looked for, not reported
	path   []step
	misfit *Misfit // the first one
}

func (e *evaluation) spend(steps int) bool {
	if e.left >= 0 {
		e.left -= steps
	}
	return e.left >= 0
}

// fail notes that v does not satisfy a keyword of n.
func (e *evaluation) fail(n *node, keyword string) bool {
	if e.trial == 0 && e.misfit == nil {
		e.misfit = &Misfit{Pointer: pointer(e.path), Why: fmt.Errorf("does not satisfy %s", n.where(keyword))}
	}
	return false
}

// check reports whether v satisfies n.
func (e *evaluation) check(n *node, v *value) bool {
	if !e.spend(1) {
		return false
	}
	if e.frames == maxFrames {
		e.left = -1
		return false
	}
	e.frames++
	ok := e.judge(n, v)
	e.frames--
	return ok
}

// try is check without a report: where one alternative of several may fail.
func (e *evaluation) try(n *node, v *value) bool {
	e.trial++
	ok := e.check(n, v)
	e.trial--
	return ok
}

// below checks a part of the current value.
func (e *evaluation) below(s step, n *node, v *value) bool {
	e.path = append(e.path, s)
	ok := e.check(n, v)
	e.path = e.path[:len(e.path)-1]
	return ok
}

func (e *evaluation) judge(n *node, v *value) bool {
	if n.never {
		return e.fail(n, "false")
	}
	if n.kinds != 0 && n.kinds&v.kind == 0 {
		return e.fail(n, "type")
	}
	if n.allowed != nil && !e.allowed(n, v) {
		return false
	}
	ok := true
	switch {
	case v.kind&kindNumber != 0:
		ok = e.number(n, v)
	case v.kind == kindString:
		ok = e.string(n, v)
	case v.kind == kindArray:
		ok = e.array(n, v)
	case v.kind == kindObject:
		ok = e.object(n, v)
	}
	return ok && e.inPlace(n, v)
}

// allowed checks enum and const.
func (e *evaluation) allowed(n *node, v *value) bool {
	for _, a := range n.allowed {
		key := e.doc.key(v)
		if len(key) <= a.longest {
			if !e.spend(len(key)) {
				return false
			}
			if _, ok := a.keys[key]; ok {
				continue
			}
		}
		return e.fail(n, a.keyword)
	}
	return true
}

func (e *evaluation) number(n *node, v *value) bool {
	for _, b := range n.bounds {
		if !b.holds(v.num) {
			return e.fail(n, b.keyword)
		}
	}
	return true
}

func (e *evaluation) string(n *node, v *value) bool {
	switch {
	case v.runes < n.length.min:
		return e.fail(n, "minLength")
	case v.runes > n.length.max:
		return e.fail(n, "maxLength")
	case n.pattern != nil && !e.match(n.pattern, v.text):
		return e.fail(n, "pattern")
	}
	return true
}

func (e *evaluation) match(p *pattern, text string) bool {
	return e.spend(p.cost(text)) && p.re.MatchString(text)
}

func (e *evaluation) array(n *node, v *value) bool {
	switch {
	case len(v.kids) < n.size.min:
		return e.fail(n, "minItems")
	case len(v.kids) > n.size.max:
		return e.fail(n, "maxItems")
	case n.unique && !e.unique(v):
		return e.fail(n, "uniqueItems")
	}
	for i := range v.kids {
		item := n.items
		if i < len(n.prefix) {
			item = n.prefix[i]
		}
		if item == nil {
			break
		}
		if !e.below(step{index: i}, item, &v.kids[i]) {
			return false
		}
	}
	return n.contains == nil || e.contains(n, v)
}

func (e *evaluation) unique(v *value) bool {
	if len(v.kids) < 2 {
		return true
	}
	seen := make(map[string]struct{}, min(len(v.kids), e.left))
	for i := range v.kids {
		key := e.doc.key(&v.kids[i])
		if !e.spend(len(key)) {
			return false
		}
		if _, ok := seen[key]; ok {
			return false
		}
		seen[key] = struct{}{}
	}
	return true
}

func (e *evaluation) contains(n *node, v *value) bool {
	found := 0
	for i := range v.kids {
		if e.try(n.contains, &v.kids[i]) {
			if found++; found > n.found.max {
				return e.fail(n, "maxContains")
			}
		}
		if e.left < 0 {
			return false
		}
	}
	if found < n.found.min {
		if n.found.min == 1 {
			return e.fail(n, "contains")
		}
		return e.fail(n, "minContains")
	}
	return true
}

func (e *evaluation) object(n *node, v *value) bool {
	switch {
	case len(v.kids) < n.count.min:
		return e.fail(n, "minProperties")
	case len(v.kids) > n.count.max:
		return e.fail(n, "maxProperties")
	case !e.required(n, "required", n.required, v):
		return false
	}
	for _, d := range n.dependents {
		has := e.has(v, d.name)
		if e.left < 0 {
			return false
		}
		if !has {
			continue
		}
		if d.sub != nil && !e.check(d.sub, v) || !e.required(n, "dependentRequired", d.required, v) {
			return false
		}
	}
	if !n.looksAtMembers() {
		return true
	}
	for i := range v.kids {
		if !e.member(n, &v.names[i], &v.kids[i]) {
			return false
		}
	}
	return true
}

func (e *evaluation) required(n *node, keyword string, names []string, v *value) bool {
	for _, name := range names {
		if !e.has(v, name) {
			return e.fail(n, keyword)
		}
	}
	return true
}

// has reports whether an object has a member. The names that are compared may be
// long and equal up to their ends.
func (e *evaluation) has(v *value, name string) bool {
	return e.spend(1+len(name)) && v.get(name) != nil
}

// member checks one member of an object.
func (e *evaluation) member(n *node, name, v *value) bool {
	at := step{name: name.text, named: true}
	if !e.spend(1+len(name.text)) || n.names != nil && !e.below(at, n.names, name) {
		return false
	}
	sub, known := n.properties[name.text]
	if known && !e.below(at, sub, v) {
		return false
	}
	for _, p := range n.patterns {
		if e.match(p.pattern, name.text) {
			if known = true; !e.below(at, p.sub, v) {
				return false
			}
		}
		if e.left < 0 {
			return false
		}
	}
	return known || n.additional == nil || e.below(at, n.additional, v)
}

// inPlace checks the schemas that n applies to v itself.
func (e *evaluation) inPlace(n *node, v *value) bool {
	if n.ref != nil && !e.check(n.ref, v) {
		return false
	}
	for _, sub := range n.allOf {
		if !e.check(sub, v) {
			return false
		}
	}
	if n.anyOf != nil && e.fits(n.anyOf, v, 1) == 0 {
		return e.fail(n, "anyOf")
	}
	if n.oneOf != nil && e.fits(n.oneOf, v, 2) != 1 {
		return e.fail(n, "oneOf")
	}
	if n.not != nil && e.try(n.not, v) {
		return e.fail(n, "not")
	}
	if n.test == nil || n.then == nil && n.otherwise == nil {
		return true
	}
	branch := n.otherwise
	if e.try(n.test, v) {
		branch = n.then
	}
	return branch == nil || e.check(branch, v)
}

// fits counts the schemas that v satisfies, up to enough.
func (e *evaluation) fits(subs []*node, v *value, enough int) int {
	found := 0
	for _, sub := range subs {
		if e.try(sub, v) {
			found++
		}
		if found == enough || e.left < 0 {
			break
		}
	}
	return found
}
