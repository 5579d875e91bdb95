package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/wire"
)

// A tool is one thing that an agent can ask for.
type tool struct {
	name, title, text string // text is its description

	takes []param // its arguments; others are refused
	gives []param // members of its result

	reads    bool             // it changes nothing
	waits    bool             // it is made to wait, and bounds that itself
	repeats  bool             // doing it again changes nothing more
	ends     bool             // it may end a session, or tell others of it: it cannot be undone
	messages wire.MessageType // the move that it makes; "": none

	do func(ctx context.Context, c *call) (wire.M, error)
}

// A kind is the type of an argument or of a member of a result.
type kind int

const (
	text kind = iota
	id        // of an agent, a session, a message, an offer
	hash
	integer
	number
	yes     // true or false
	object  // any JSON object
	objects // an array of them
	texts   // an array of strings
	ids     // an array of ids
)

// A param is an argument, or a member of a result.
type param struct {
	name string
	kind kind
	text string // what it is

	must        bool // it has to be there
	oneOf       []string
	least, most int64 // of an integer; most 0: the largest that JSON carries safely
	caps        bool  // a larger integer than most means most: it says how much to show
	idle        bool  // the reference takes it; here it means nothing, and the result says so
}

// bound is the largest integer of the param.
func (p *param) bound() int64 {
	if p.most == 0 {
		return wire.MaxSafeInteger
	}
	return p.most
}

// Bounds of an argument.
const (
	maxText = 10_000 // bytes of a string
	maxList = 1000   // elements of an array
)

// schema is the JSON Schema of the param.
func (p *param) schema() wire.M {
	s := map[kind]wire.M{
		text: {"type": "string"}, id: {"type": "string", "maxLength": wire.MaxIDLength}, hash: {"type": "string"},
		integer: {"type": "integer"}, number: {"type": "number"}, yes: {"type": "boolean"}, object: {"type": "object"},
		objects: {"type": "array", "items": wire.M{"type": "object"}},
		texts:   {"type": "array", "items": wire.M{"type": "string"}},
		ids:     {"type": "array", "items": wire.M{"type": "string"}},
	}[p.kind]
	if p.text != "" {
		s["description"] = p.text
	}
	if p.oneOf != nil {
		s["enum"] = p.oneOf
	}
	if p.kind == integer && (p.least != 0 || p.most != 0) {
		s["minimum"], s["maximum"] = p.least, p.bound()
	}
	return s
}

// check reads the param of arguments, for what is wrong with it.
func (p *param) check(r wire.Reader) {
	if p.idle || !p.must && !r.Has(p.name) {
		return
	}
	switch p.kind {
	case text:
		if p.oneOf != nil {
			r.OneOf(p.name, p.oneOf...)
		} else if s := r.Text(p.name); len(s) > maxText {
			r.Fail(p.name, fmt.Errorf("want at most %d bytes", maxText))
		}
	case id:
		wire.ReadID[wire.AgentID](r, p.name)
	case hash:
		r.Hash(p.name)
	case integer:
		most := p.bound()
		if p.caps {
			most = wire.MaxSafeInteger
		}
		r.Int(p.name, p.least, most)
	case number:
		if _, ok := r.Value(p.name).Float(); !ok {
			r.Fail(p.name, errors.New("want a number"))
		}
	case yes:
		r.Bool(p.name)
	case object:
		r.Object(p.name)
	case objects:
		for range r.Objects(p.name) {
		}
	case texts, ids:
		list := r.Strings(p.name)
		if p.kind == ids && slices.ContainsFunc(list, func(s string) bool { return wire.CheckID(wire.AgentID(s)) != nil }) {
			r.Fail(p.name, errors.New("want ids"))
		}
	}
	if v, _ := r.Whole().Get(p.name); v.Kind() == wire.Array && v.Len() > maxList {
		r.Fail(p.name, fmt.Errorf("want at most %d elements", maxList))
	}
}

// ruleArguments is broken by arguments that a tool does not take.
var ruleArguments = &wire.Rule{Section: "10.2", Name: "tool-arguments", Class: wire.ClassSchema, Text: "the arguments of a tool have its members, each well-formed"}

// arguments parses what a tool is called with. A member that is null counts as left out.
// (SPEC §10.2)
func (t *tool) arguments(data []byte) (wire.Reader, error) {
	if len(data) == 0 || string(data) == "null" {
		data = []byte("{}")
	}
	v, err := wire.Parse(data, wire.DocumentLimits)
	if err != nil {
		return wire.Reader{}, err
	}
	r := wire.Read(v, "", ruleArguments)
	names := make([]string, len(t.takes))
	for i := range t.takes {
		names[i] = t.takes[i].name
	}
	if r.Closed(names...); r.Err() != nil {
		return r, r.Err()
	}
	r = wire.Read(v.WithoutNulls(), "", ruleArguments)
	for i := range t.takes {
		t.takes[i].check(r)
	}
	return r, r.Err()
}

// takesNone reports whether a JSON pointer names an argument that the tool does not have.
func (t *tool) takesNone(at string) bool {
	name, top := strings.CutPrefix(at, "/")
	return top && !strings.Contains(name, "/") && !slices.ContainsFunc(t.takes, func(p param) bool { return p.name == name })
}

// names lists the arguments that mean something.
func (t *tool) names() string {
	var list []string
	for _, p := range t.takes {
		if !p.idle {
			list = append(list, p.name)
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// schemaOf makes the schema of an object with params.
func schemaOf(list []param) (properties wire.M, required []string) {
	properties, required = wire.M{}, []string{}
	for i := range list {
		properties[list[i].name] = list[i].schema()
		if list[i].must {
			required = append(required, list[i].name)
		}
	}
	return properties, required
}

// input is the schema of the arguments.
func (t *tool) input() wire.M {
	properties, required := schemaOf(t.takes)
	return wire.M{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// output is the schema of the result, which may be a refusal. It has no descriptions, and
// of a refusal no more than how to know one and the words of others, for every list would
// repeat the rest for every tool: RFC 0003 has it.
func (t *tool) output() wire.M {
	properties, required := schemaOf(t.gives)
	refusal, refused := schemaOf(refusalMembers)
	for _, name := range append(refused, "external") {
		properties[name] = refusal[name]
	}
	if slices.ContainsFunc(t.takes, func(p param) bool { return p.idle }) {
		properties["ignored"] = (&param{kind: texts}).schema()
	}
	for _, p := range properties {
		delete(p.(wire.M), "description")
	}
	return wire.M{"type": "object", "properties": properties, "anyOf": []any{wire.M{"required": required}, wire.M{"required": refused}}}
}

// definition is the tool as MCP lists it.
func (t *tool) definition() *mcp.Tool {
	destructive, open := t.ends, true
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.text, InputSchema: t.input(), OutputSchema: t.output(),
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: t.reads, DestructiveHint: &destructive, IdempotentHint: t.repeats, OpenWorldHint: &open},
	}
}

// A call is a tool being called.
type call struct {
	*Server
	tool    *tool
	args    wire.Reader
	request *mcp.CallToolRequest

	// repeat are arguments under which the same call can be made again without being done
	// twice, for whoever does not hear what became of it.
	repeat wire.M

	noted []func() // what to note of the result when it has reached the agent
}

func (c *call) text(name string) string { return c.args.OptText(name) }
func (c *call) yes(name string) bool    { return c.args.OptBool(name) }
func (c *call) int(name string, otherwise int64) int64 {
	n := c.args.OptInt(name, -wire.MaxSafeInteger, wire.MaxSafeInteger, otherwise)
	for i := range c.tool.takes {
		if p := &c.tool.takes[i]; p.name == name && p.caps {
			return min(n, p.bound())
		}
	}
	return n
}
func (c *call) session() wire.SessionID { return wire.SessionID(c.text("session_id")) }

// value returns an argument as it was given; absent if it was not.
func (c *call) value(name string) wire.Value {
	v, _ := c.args.Whole().Get(name)
	return v
}

func (c *call) texts(name string) []string {
	if !c.args.Has(name) {
		return nil
	}
	return c.args.Strings(name)
}

// ignored names the arguments that were given and mean nothing here.
func (c *call) ignored() []string {
	var names []string
	for _, p := range c.tool.takes {
		if p.idle && c.args.Has(p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

// members returns those of the arguments that were given, as an object.
func (c *call) members(names ...string) wire.Value { return c.args.Whole().Only(names...) }

// serve answers a call.
func (t *tool) serve(s *Server) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.call(ctx, t, request, request.Params.Arguments), nil
	}
}

// call calls a tool with arguments as they came.
func (s *Server) call(ctx context.Context, t *tool, request *mcp.CallToolRequest, data []byte) *mcp.CallToolResult {
	args, err := t.arguments(data)
	c := &call{Server: s, tool: t, args: args, request: request}
	var result wire.M
	asker := s.asker(request)
	defer asker.call()()
	if t.reads || t.waits {
		var leave context.CancelFunc
		ctx, leave = context.WithCancel(ctx)
		defer leave()
		defer context.AfterFunc(asker.gone(), leave)()
	}
	if err == nil {
		short, stop := ctx, func() {}
		if !t.waits {
			short, stop = context.WithTimeout(ctx, s.opts.Patience)
		}
		result, err = t.do(short, c)
		stop()
	}
	if !t.reads {
		s.refresh(ctx)
	}
	if err != nil {
		result = c.refusal(ctx, err)
	} else if names := c.ignored(); names != nil {
		result["ignored"] = names
	}
	if ctx.Err() == nil && asker.gone().Err() == nil {
		c.heard()
	}
	return answer(result, err != nil)
}

// answer makes a result of an object: structured, and the same as text.
func answer(result wire.M, refused bool) *mcp.CallToolResult {
	v, err := wire.Encode(result)
	if err != nil {
		v, _ = wire.Encode(wire.M{"error": "the result cannot be written", "code": "internal"})
		refused = true
	}
	text := v.Canonical()
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: json.RawMessage(text), IsError: refused,
	}
}

// lines joins the lines of a description.
func lines(list ...string) string { return strings.Join(list, " ") }
