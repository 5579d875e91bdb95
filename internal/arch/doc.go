// Package arch holds the rules of this repository as tests: which package may
// import which, what a pure package may not touch, which names and imports are
// refused, and that what the comments cite stands in SPEC.md. It has no code to
// link.
//
// Each rule is a function from the parsed sources to a list of problems. It is
// run twice: on the module, where it must find nothing, and on small sources
// that break it, where it must find exactly what is wrong.
package arch
