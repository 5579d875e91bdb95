// Package examples holds programs to read and run. Each folder is one; the tests
// of this package run them and compare what they print.
package examples
