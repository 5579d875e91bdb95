// Package conformance judges cases and suites: files that hold an artifact, the
// keys and the time to judge it with, and the verdict that a correct
// implementation gives (SPEC §12).
//
// A [Case] is one self-contained file. Whatever decides a verdict sees the
// artifact, the keys, the time and the context, never the case's name or what is
// expected of it.
package conformance
