package wire

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Reader takes the members of an object apart. A member that does not fit reads
// as a zero value; the first one is remembered with its pointer, and Err returns
// the Violation: a shape is written down as a list of reads and checked once.
type Reader struct {
	value Value
	at    string
	rule  *Rule
	first **Violation
}

// Read starts reading v at pointer at; a misfit breaks rule.
func Read(v Value, at string, rule *Rule) Reader {
	r := Reader{value: v, at: at, rule: rule, first: new(*Violation)}
	if v.Kind() != Object {
		r.Fail("", errNotObject)
	}
	return r
}

var (
	errNotObject = errors.New("want an object")
	errMissing   = errors.New("missing")
	errUnknown   = errors.New("a member this shape does not have")
	errCase      = errors.New("differs only in case from a member of this shape")
)

func errWant(k Kind, got Value) error { return fmt.Errorf("want %v, got %v", k, got.Kind()) }

// Err returns the first misfit, a *Violation, or nil.
func (r Reader) Err() error {
	if *r.first != nil {
		return *r.first
	}
	return nil
}

// Fail records a misfit of the named member, or of the object itself if name is
// empty, unless there was one before.
func (r Reader) Fail(name string, cause error) { r.FailRule(r.rule, name, cause) }

// FailRule is Fail for another rule.
func (r Reader) FailRule(rule *Rule, name string, cause error) {
	if name == "" {
		r.failAt(rule, r.at, cause)
	} else {
		r.failAt(rule, r.child(name), cause)
	}
}

func (r Reader) failAt(rule *Rule, at string, cause error) {
	if *r.first == nil {
		*r.first = rule.Because(at, cause)
	}
}

// child returns the pointer of a member.
func (r Reader) child(name string) string {
	if strings.ContainsAny(name, "~/") {
		return r.at + Pointer(name)
	}
	return r.at + "/" + name
}

// Pointer returns the pointer of the object itself.
func (r Reader) Pointer() string { return r.at }

// Whole returns the object itself.
func (r Reader) Whole() Value { return r.value }

// Has reports whether the member is there, be it null.
func (r Reader) Has(name string) bool { _, ok := r.value.Get(name); return ok }

// WithoutNulls returns a Reader of the object to which a null member is none.
func (r Reader) WithoutNulls() Reader {
	r.value = r.value.WithoutNulls()
	return r
}

// Closed refuses every member but these.
func (r Reader) Closed(names ...string) {
	for name := range r.value.Members() {
		if !slices.Contains(names, name) {
			r.failAt(r.rule, r.child(name), errUnknown)
		}
	}
}

// Open allows other members than these, but none that differs from one of these
// only in case: a careless reader would take it for the real one.
func (r Reader) Open(names ...string) {
	for name := range r.value.Members() {
		if slices.Contains(names, name) {
			continue
		}
		if slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(name, known) }) {
			r.Fail(name, errCase)
		}
	}
}

// Value returns a required member of any kind.
func (r Reader) Value(name string) Value {
	v, ok := r.value.Get(name)
	if !ok {
		r.Fail(name, errMissing)
	}
	return v
}

func (r Reader) kind(name string, k Kind) (Value, bool) {
	v := r.Value(name)
	if v.Kind() == k {
		return v, true
	}
	if v.Kind() != Absent {
		r.Fail(name, errWant(k, v))
	}
	return Value{}, false
}

// Text returns a required string.
func (r Reader) Text(name string) string {
	v, _ := r.kind(name, String)
	return v.Text()
}

// OptText returns a string that may be left out.
func (r Reader) OptText(name string) string {
	if v, ok := r.value.Get(name); !ok || v.Kind() == String {
		return v.Text()
	}
	return r.Text(name)
}

// OneOf returns a required string of a fixed set.
func (r Reader) OneOf(name string, allowed ...string) string {
	s := r.Text(name)
	if !slices.Contains(allowed, s) {
		r.Fail(name, fmt.Errorf("want one of %s", strings.Join(allowed, ", ")))
		return ""
	}
	return s
}

// Bool returns a required boolean.
func (r Reader) Bool(name string) bool {
	v, _ := r.kind(name, Bool)
	return v.Bool()
}

// OptBool returns a boolean that may be left out.
func (r Reader) OptBool(name string) bool { return r.Has(name) && r.Bool(name) }

// Int returns a required integer from lo to hi.
func (r Reader) Int(name string, lo, hi int64) int64 {
	v, ok := r.kind(name, Number)
	if !ok {
		return 0
	}
	n, ok := v.Int()
	if !ok || n < lo || n > hi {
		r.Fail(name, fmt.Errorf("want an integer from %d to %d", lo, hi))
		return 0
	}
	return n
}

// OptInt returns an integer from lo to hi, or otherwise if it is left out.
func (r Reader) OptInt(name string, lo, hi, otherwise int64) int64 {
	if !r.Has(name) {
		return otherwise
	}
	return r.Int(name, lo, hi)
}

// Time returns a required timestamp.
func (r Reader) Time(name string) time.Time {
	v, ok := r.kind(name, String)
	if !ok {
		return time.Time{}
	}
	t, err := ParseTime(v.Text())
	if err != nil {
		r.Fail(name, err)
	}
	return t
}

// Hash returns a required hash.
func (r Reader) Hash(name string) Hash {
	v, ok := r.kind(name, String)
	if !ok {
		return Hash{}
	}
	h, err := ParseHash(v.Text())
	if err != nil {
		r.Fail(name, err)
	}
	return h
}

// ReadID returns a required id.
func ReadID[ID ~string](r Reader, name string) ID {
	v, ok := r.kind(name, String)
	if !ok {
		return ""
	}
	id := ID(v.Text())
	if err := CheckID(id); err != nil {
		r.Fail(name, err)
		return ""
	}
	return id
}

// OptID returns an id that may be left out.
func OptID[ID ~string](r Reader, name string) ID {
	if !r.Has(name) {
		return ""
	}
	return ReadID[ID](r, name)
}

// Object returns a Reader of a required object.
func (r Reader) Object(name string) Reader {
	v, _ := r.kind(name, Object)
	return Reader{value: v, at: r.child(name), rule: r.rule, first: r.first}
}

// Member returns a Reader of a member that the caller knows to be an object.
func (r Reader) Member(name string) Reader {
	v, _ := r.value.Get(name)
	return Reader{value: v, at: r.child(name), rule: r.rule, first: r.first}
}

// OptObject is Object for a member that may be left out.
func (r Reader) OptObject(name string) (Reader, bool) {
	if !r.Has(name) {
		return Reader{}, false
	}
	return r.Object(name), true
}

// Array returns a required array.
func (r Reader) Array(name string) Value {
	v, _ := r.kind(name, Array)
	return v
}

// Objects yields a Reader for each element of a required array, all of which
// must be objects.
func (r Reader) Objects(name string) iter.Seq2[int, Reader] {
	return func(yield func(int, Reader) bool) {
		at := r.child(name)
		for i, v := range r.Array(name).Elems() {
			e := Reader{value: v, at: at + "/" + strconv.Itoa(i), rule: r.rule, first: r.first}
			if v.Kind() != Object {
				e.Fail("", errNotObject)
				return
			}
			if !yield(i, e) {
				return
			}
		}
	}
}

// Strings returns a required array of strings.
func (r Reader) Strings(name string) []string {
	var list []string
	for i, v := range r.Array(name).Elems() {
		if v.Kind() != String {
			r.failAt(r.rule, r.at+Pointer(name, strconv.Itoa(i)), errWant(String, v))
			return nil
		}
		list = append(list, v.Text())
	}
	return list
}

// Each yields a Reader for each member of an object, all of which must be objects.
func (r Reader) Each() iter.Seq2[string, Reader] {
	return func(yield func(string, Reader) bool) {
		for name, v := range r.value.Members() {
			e := Reader{value: v, at: r.child(name), rule: r.rule, first: r.first}
			if v.Kind() != Object {
				e.Fail("", errNotObject)
				return
			}
			if !yield(name, e) {
				return
			}
		}
	}
}

// For returns r with other misfits breaking another rule.
func (r Reader) For(rule *Rule) Reader {
	r.rule = rule
	return r
}
