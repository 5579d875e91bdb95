package match

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/wire"
)

// A term is what an entry says of one dimension of the deal: which values it takes.
// Either these are listed, or they lie between two ends, or there are words that those
// of the other side should resemble.
type term struct {
	id       name
	object   wire.Value
	values   []value // in the order of their texts; nil: all between the ends
	lo, hi   end
	graded   bool // it has a minimum that is a grade
	fuzzy    bool
	words    []name
	currency string
	unit     string
}

// A value is one that a term lists, and where it lies.
type value struct {
	name // the canonical text
	wire.Value
	form offer.Form
	at   float64
}

// An end bounds the values of a term on one side; that of form 0 does not.
type end struct {
	wire.Value
	form offer.Form
	at   float64
}

// grades are the words of condition, from the worst on. They have an order.
var grades = []string{"poor", "fair", "good", "like_new", "new"}

// formGrade is the form of grades. It is none of package offer.
const formGrade offer.Form = math.MaxUint8

// position places numbers, temporal strings and grades.
func position(v wire.Value) (offer.Form, float64) {
	if i := slices.Index(grades, v.Text()); i >= 0 && v.Kind() == wire.String {
		return formGrade, float64(i)
	}
	return offer.Position(v)
}

// A name is a text that is looked for among others: the id of a term, a word, the
// canonical text of a value. Its first 16 bytes, as numbers, decide most comparisons
// without a look at the text, which is somewhere else in memory.
type name struct {
	head [2]uint64
	text string
}

func nameOf(text string) name {
	var b [16]byte
	copy(b[:], text)
	return name{[2]uint64{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}, text}
}

// compare orders names by the bytes of their texts.
func (n *name) compare(m *name) int {
	switch {
	case n.head[0] != m.head[0]:
		return cmp.Compare(n.head[0], m.head[0])
	case n.head[1] != m.head[1]:
		return cmp.Compare(n.head[1], m.head[1])
	case len(n.text) <= 16 && len(n.text) == len(m.text):
		return 0
	}
	return cmp.Compare(n.text, m.text)
}

func compareNames(n, m name) int { return n.compare(&m) }

// search returns the index of a name in a list of n that is in order, or -1.
func search(n int, at func(int) *name, want *name) int {
	lo, hi := 0, n
	for lo < hi {
		m := (lo + hi) / 2
		switch c := at(m).compare(want); {
		case c == 0:
			return m
		case c < 0:
			lo = m + 1
		default:
			hi = m
		}
	}
	return -1
}

// Limits of a text.
const (
	maxText  = 1000 // bytes of a value
	maxWords = 32   // of a text that count
)

// wordsOf returns the words of a text: its first runs of letters and digits.
func wordsOf(text string) (list []name) {
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		if len(list) == maxWords {
			break
		}
		list = append(list, nameOf(w))
	}
	slices.SortFunc(list, compareNames)
	return slices.Compact(list)
}

var (
	errTermID     = fmt.Errorf("a term id has 1 to %d bytes, and is not _location", maxTermID)
	errTooMany    = fmt.Errorf("an enum has 1 to %d values", MaxEnum)
	errText       = fmt.Errorf("want a value that is no null and has at most %d bytes", maxText)
	errWord       = errors.New("want 1 to 32 printable characters")
	errNoOrder    = errors.New("want a number, a temporal string or a grade")
	errOtherForm  = errors.New("min and max are not of one form")
	errNothing    = errors.New("min and max leave no value")
	errOutside    = errors.New("the value is outside of min, max and enum")
	errFuzzyBound = errors.New("what is fuzzy has a text as its value, and no bounds")
)

// readTerm reads a term of an entry (SPEC §7.1).
func readTerm(id string, r wire.Reader) term {
	r = r.WithoutNulls()
	r.Open("value", "min", "max", "enum", "currency", "unit", "match")
	t := term{id: nameOf(id), object: r.Whole(), currency: readWord(r, "currency"), unit: readWord(r, "unit")}
	if id == "" || len(id) > maxTermID || id == locationTerm {
		r.Fail("", errTermID)
	}
	t.lo, t.hi = readEnd(r, "min"), readEnd(r, "max")
	switch {
	case t.lo.form != 0 && t.hi.form != 0 && t.lo.form != t.hi.form:
		r.Fail("max", errOtherForm)
	case t.lo.form != 0 && t.hi.form != 0 && t.lo.at > t.hi.at:
		r.Fail("max", errNothing)
	}
	t.graded = t.lo.form == formGrade
	bounded := t.lo.form != 0 || t.hi.form != 0 || r.Has("enum")
	if r.Has("enum") {
		t.readEnum(r)
	}
	preferred, has := t.object.Get("value")
	if has {
		v, ok := readValue(preferred)
		switch {
		case !ok:
			r.Fail("value", errText)
		case !bounded:
			t.values = []value{v}
		case !t.takes(&v):
			r.Fail("value", errOutside)
		}
	}
	if r.Has("match") && r.OneOf("match", "exact", "fuzzy") == "fuzzy" {
		if t.fuzzy = true; bounded || preferred.Kind() != wire.String {
			r.Fail("match", errFuzzyBound)
		}
	}
	if preferred.Kind() == wire.String {
		t.words = wordsOf(preferred.Text())
	}
	return t
}

func readWord(r wire.Reader, name string) string {
	s := r.OptText(name)
	if r.Has(name) && (s == "" || len(s) > 32 || strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })) {
		r.Fail(name, errWord)
	}
	return s
}

func readEnd(r wire.Reader, name string) end {
	if !r.Has(name) {
		return end{}
	}
	v := r.Value(name)
	form, at := position(v)
	if form == 0 {
		r.Fail(name, errNoOrder)
	}
	return end{v, form, at}
}

func readValue(v wire.Value) (value, bool) {
	form, at := position(v)
	return value{nameOf(v.Canonical()), v, form, at}, v.Kind() != wire.Null && len(v.Canonical()) <= maxText
}

// readEnum reads the values that are listed, and keeps those between the ends.
func (t *term) readEnum(r wire.Reader) {
	enum := r.Array("enum")
	if n := enum.Len(); n == 0 || n > MaxEnum {
		r.Fail("enum", errTooMany)
		return
	}
	t.values = []value{}
	for _, e := range enum.Elems() {
		v, ok := readValue(e)
		if !ok {
			r.Fail("enum", errText)
			return
		}
		if t.between(&v) {
			t.values = append(t.values, v)
		}
	}
	slices.SortFunc(t.values, func(a, b value) int { return compareNames(a.name, b.name) })
	t.values = slices.CompactFunc(t.values, func(a, b value) bool { return a.name == b.name })
	if len(t.values) == 0 {
		r.Fail("enum", errNothing)
	}
}

// between reports whether a value lies between the ends of a term. What cannot be
// compared with an end does not.
func (t *term) between(v *value) bool {
	return (t.lo.form == 0 || t.lo.form == v.form && t.lo.at <= v.at) &&
		(t.hi.form == 0 || t.hi.form == v.form && v.at <= t.hi.at)
}

// takes reports whether a term takes a value.
func (t *term) takes(v *value) bool {
	if t.values == nil {
		return t.between(v)
	}
	return search(len(t.values), func(i int) *name { return &t.values[i].name }, &v.name) >= 0
}

// weight says what comparing a term costs, in steps, without those of its names: one that
// is longer than its head takes more.
func (t *term) weight() int {
	n := 3 + t.id.weight(5)
	for i := range t.values {
		n += 1 + t.values[i].weight(4)
	}
	for i := range t.words {
		n += t.words[i].weight(3)
	}
	return n
}

// weight is 1, or that of a name whose text may have to be looked at.
func (n *name) weight(long int) int {
	if len(n.text) > len(n.head)*8 {
		return long
	}
	return 1
}

// termOf returns the term of an id, or nil.
func termOf(list []term, id *name) *term {
	if i := search(len(list), func(i int) *name { return &list[i].id }, id); i >= 0 {
		return &list[i]
	}
	return nil
}

func sortTerms(list []term) {
	slices.SortFunc(list, func(a, b term) int { return compareNames(a.id, b.id) })
}

// A common is what two terms leave: how good it is, in ten-thousandths, and what is
// said of it.
type common struct {
	want, have *term
	quality    int
	say        bool    // the values are kept
	values     []value // that both take, if one of them lists its values
	lo, hi     *end    // else; nil: open
	fuzzy      bool
}

// meet compares two terms, and reports false if no value is left.
func (c *common) meet() bool {
	c.quality, c.values, c.lo, c.hi, c.fuzzy = full, nil, nil, nil, c.want.fuzzy || c.have.fuzzy
	if !c.sameMeasure(c.want.currency, c.have.currency) || !c.sameMeasure(c.want.unit, c.have.unit) {
		return false
	}
	switch {
	case c.fuzzy:
		c.quality = c.quality * resemblance(c.want.words, c.have.words) / full
		return true
	case c.want.values != nil || c.have.values != nil:
		return c.meetValues(c.want, c.have)
	}
	return c.meetEnds()
}

// sameMeasure compares two currencies, or two units. One that is not named may be
// another: that is half as good.
func (c *common) sameMeasure(want, have string) bool {
	if (want == "") != (have == "") {
		c.quality /= 2
		return true
	}
	return want == have
}

// meetValues keeps the values that both take, at the cost of the shorter list.
func (c *common) meetValues(small, large *term) bool {
	if small.values == nil || large.values != nil && len(large.values) < len(small.values) {
		small, large = large, small
	}
	n := 0
	for i := range small.values {
		if v := &small.values[i]; large.takes(v) {
			if n++; c.say {
				c.values = append(c.values, *v)
			}
		}
	}
	c.quality = c.quality * n / len(small.values)
	return n > 0
}

// meetEnds keeps what lies between the ends of both.
func (c *common) meetEnds() bool {
	form := offer.Form(0)
	for _, e := range [...]*end{&c.want.lo, &c.have.lo, &c.want.hi, &c.have.hi} {
		switch {
		case e.form == 0:
		case form != 0 && form != e.form:
			return false
		default:
			form = e.form
		}
	}
	for _, t := range [...]*term{c.want, c.have} {
		if t.lo.form != 0 && (c.lo == nil || c.lo.at < t.lo.at) {
			c.lo = &t.lo
		}
		if t.hi.form != 0 && (c.hi == nil || t.hi.at < c.hi.at) {
			c.hi = &t.hi
		}
	}
	if c.lo == nil || c.hi == nil {
		return true
	}
	if c.lo.Kind() == wire.Number { // of other forms zero is nowhere
		c.quality = c.quality * room(c.lo.at, c.hi.at) / full
	}
	return c.lo.at <= c.hi.at
}

// room says how much two numbers leave between them, in ten-thousandths: half if they
// are one, all if they are as far apart as the greater one is from zero, or farther.
func room(lo, hi float64) int {
	size := max(math.Abs(lo), math.Abs(hi))
	if size == 0 {
		return full / 2
	}
	return full/2 + int(math.Round(full/2*min(1, hi/size-lo/size))) // hi-lo may be out of range
}

// resemblance is how many words of the shorter text the other one has.
func resemblance(a, b []name) int {
	if len(b) < len(a) {
		a, b = b, a
	}
	if len(a) == 0 {
		return 0
	}
	n := 0
	for i := range a {
		if search(len(b), func(i int) *name { return &b[i] }, &a[i]) >= 0 {
			n++
		}
	}
	return full * n / len(a)
}

// members says what two terms have in common (SPEC §7.4).
func (c *common) members() wire.M {
	m := wire.M{"quality": share(c.quality)}
	if currency := cmp.Or(c.want.currency, c.have.currency); currency != "" {
		m["currency"] = currency
	}
	if unit := cmp.Or(c.want.unit, c.have.unit); unit != "" {
		m["unit"] = unit
	}
	switch {
	case c.fuzzy:
		m["match_type"] = "fuzzy"
		for name, t := range map[string]*term{"want_value": c.want, "have_value": c.have} {
			if v, ok := t.object.Get("value"); ok {
				m[name] = v
			}
		}
	case len(c.values) == 1:
		m["value"] = c.values[0].Value
		if c.want.graded || c.have.graded {
			m["meets_minimum"] = true
		}
	case c.values != nil:
		list := make([]wire.Value, len(c.values))
		for i, v := range c.values {
			list[i] = v.Value
		}
		m["enum"] = list
	case c.lo != nil && c.hi != nil:
		m["range"] = []wire.Value{c.lo.Value, c.hi.Value}
	case c.lo != nil:
		m["min"] = c.lo.Value
	case c.hi != nil:
		m["max"] = c.hi.Value
	}
	return m
}
