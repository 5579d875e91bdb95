// Package schema checks JSON documents against the JSON Schemas of this project
// and against the constraints that a peer sends (rfcs/adr/0007).
//
// The project's own schemas are files of this folder, embedded and compiled once
// each. Nothing else is ever loaded: not from a network, not from a disk.
//
// A [Constraint] is a schema that came from outside. It is the part of JSON Schema
// that can be evaluated from the document alone, has its own evaluator, and every
// step of it is counted.
//
// Both take canonical JSON (RFC 8785) that package wire has parsed, so that
// duplicate members, lone surrogates and numbers beyond a double never get here.
package schema
