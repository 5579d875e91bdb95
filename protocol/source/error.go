package source

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/protocol"
)

// A Code names a kind of fault. Codes are added and never change.
type Code string

// The codes of the text form.
const (
	CodeSyntax    Code = "syntax"     // the text is not of the grammar
	CodeDuplicate Code = "duplicate"  // one name twice
	CodeLimit     Code = "limit"      // too long, too deep or too large
	CodeExtension Code = "extension"  // not in the strict grammar
	CodeInclude   Code = "include"    // a fragment that is not there, or includes itself
	CodeUnbound   Code = "unbound"    // a variable that no rec binds
	CodeUnguarded Code = "unguarded"  // a recursion in which nothing happens
	CodeNonTail   Code = "non-tail"   // something follows a variable, which no finite automaton can remember
	CodeShadowing Code = "shadowing"  // a warning: a rec hides another of the same name
	CodeNeverEnds Code = "never-ends" // a warning: what follows a loop that never ends
	CodeBind      Code = "bind"       // a label that is bound to no event, or to one of the other side
)

// The codes of the document form.
const (
	CodeUnknownKey Code = "unknown-key"
	CodeMissing    Code = "missing"   // a key that is required
	CodeType       Code = "type"      // a value of another type
	CodeValue      Code = "value"     // a value outside its domain
	CodeName       Code = "name"      // a state, tool, approval, capture or role that is not declared
	CodeCondition  Code = "condition" // a condition that cannot be decided
)

// An Error is a fault of a protocol as it is written.
type Error struct {
	Code    Code
	Name    string         // of the text: a file, a fragment; may be empty
	Place   protocol.Place // zero if it was not written down anywhere
	Message string
	Text    string // the line of the fault
}

// Error returns the place, the message and, if there is one, the line with a caret
// below the fault.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Name != "" {
		b.WriteString(e.Name + ":")
	}
	if e.Place.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", e.Place.Line, e.Place.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "%s (%s)", e.Message, e.Code)
	if e.Place.Line > 0 && e.Text != "" {
		text, column := window(e.Text, e.Place.Column)
		fmt.Fprintf(&b, "\n  %s\n  %s^", text, strings.Repeat(" ", column-1))
	}
	return b.String()
}

// window cuts a long line to what stands around a column.
func window(line string, column int) (string, int) {
	const width = 100
	runes := []rune(strings.ToValidUTF8(line, "\uFFFD"))
	for i, r := range runes {
		if r < ' ' || r == 0x7f {
			runes[i] = ' ' // one column each
		}
	}
	column = min(max(column, 1), len(runes)+1)
	from := max(0, min(column-1-width/2, len(runes)-width))
	return string(runes[from:min(len(runes), from+width)]), column - from
}

// cut shortens foreign text for a message.
func cut(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:57]) + "..."
	}
	return s
}
