package source

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
)

// An event is what words such as "ret quote ok" stand for.
type event struct {
	by   protocol.Role // empty: either side may cause it
	on   protocol.Label
	when protocol.Condition
}

// Outcomes are what may become of a call, in the order in which a protocol lists them.
var Outcomes = []string{"ok", "error", "denied", "timeout", "cancelled", "unknown"}

// eventRoles says who causes an event of a kind.
var eventRoles = map[string]protocol.Role{
	"call": protocol.Agent, "say": protocol.Agent, "ask": protocol.Agent, "handoff": protocol.Agent,
	"ret": protocol.Environment, "hear": protocol.Environment, "answer": protocol.Environment, "signal": protocol.Environment,
	"grant": protocol.Environment, "deny": protocol.Environment, "expire": protocol.Clock, "timer": protocol.Clock,
	"event": "",
}

var errEvent = errors.New("an event is \"call TOOL\", \"ret TOOL [OUTCOME]\", \"say|hear|answer|signal NAME\", \"hear /EXPRESSION/\", " +
	"\"ask|grant|deny|expire APPROVAL\", \"timer NAME\", \"handoff NAME\" or \"event LABEL\"")

// parseEvent reads an event written as words. What a user said is "hear NAME", if
// somebody classified it, or "hear /EXPRESSION/" on the event hear:text, which is any
// message.
func parseEvent(words string) (event, error) {
	kind, rest, _ := strings.Cut(strings.TrimSpace(words), " ")
	rest = strings.TrimSpace(rest)
	by, known := eventRoles[kind]
	if !known || rest == "" {
		return event{}, errEvent
	}
	switch {
	case kind == "event":
		return event{by, protocol.Label(rest), nil}, nil
	case kind == "hear" && len(rest) > 2 && rest[0] == '/' && rest[len(rest)-1] == '/':
		expression := rest[1 : len(rest)-1]
		if err := checkExpression(expression); err != nil {
			return event{}, err
		}
		return event{by, "hear:text", protocol.Condition{{At: "/text", Matches: expression}}}, nil
	case kind == "ret":
		tool, outcome, ok := strings.Cut(rest, " ")
		if outcome = strings.TrimSpace(outcome); !ok {
			outcome = "ok"
		}
		if !slices.Contains(Outcomes, outcome) {
			return event{}, fmt.Errorf("an outcome is one of %s", strings.Join(Outcomes, ", "))
		}
		return event{by, protocol.Label("ret:" + tool + ":" + outcome), nil}, nil
	case strings.ContainsAny(rest, " \t\n"):
		return event{}, errEvent
	}
	return event{by, protocol.Label(kind + ":" + rest), nil}, nil
}

// BUG(source): Matching takes time of the length of a text and of its expression, which
// is bounded; the text is not, but by whoever takes events in.

// checkExpression reports whether an expression can be used.
func checkExpression(s string) error {
	if len(s) > 1000 {
		return errors.New("the expression is too long")
	}
	re, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return err
	}
	if p, err := syntax.Compile(re.Simplify()); err != nil || len(p.Inst) > maxProgram {
		return errors.New("the expression repeats too much")
	}
	return nil
}

// maxProgram bounds what an expression is compiled to. Matching a text takes time of its
// length and of that.
const maxProgram = 1 << 11

// checkGroup reports whether an expression can take a list out of a text.
func checkGroup(s string) error {
	if err := checkExpression(s); err != nil {
		return err
	}
	if re, err := regexp.Compile(s); err != nil || re.NumSubexp() != 1 {
		return errors.New("the expression has one group, for what is taken")
	}
	return nil
}
