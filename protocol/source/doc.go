// Package source reads protocols as people write them, and compiles them to automata
// (package protocol).
package source
