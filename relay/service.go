package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/concordia-node/concordia/wire"
)

// A Service is more that a relay does for the agents that are registered there, on the
// same mail: operations beside those of RFC 0001. Its records have keys that begin with
// a capital letter, which the relay's own do not.
type Service struct {
	Name       string // lower-case letters, as it stands in health, metrics and limits
	Operations []Operation
	Limits     any        // published under its name
	Schemas    wire.Value // object of JSON Schemas by name: of each operation, and of NAME_answer

	// Sweep removes what is over, and returns how many. It may be nil.
	Sweep func(context.Context) (int, error)

	// Counts says what there is, for health and metrics, always by the same names. It may
	// be nil, and must not wait.
	Counts func() map[string]int64
}

// An Operation is what an agent can ask a [Service] for, over either transport.
type Operation struct {
	Name    string // no other operation has it
	Summary string
	Members string // of the request; "?" marks those that can be left out
	Codes   []Code // of refusals, beside those that every operation has

	// Do answers with an object. A *wire.Violation that it fails with is shown to the
	// agent, as an *Error is.
	Do func(context.Context, *Call) (wire.Value, error)
}

// A Call is a request of an agent.
type Call struct {
	Agent   Agent       // whose token it came with
	Request wire.Reader // has no members but those of its operation

	server *Server
}

// Tell sends a frame {"push": kind, …} on the open websockets of an agent. It does not
// wait, and what a connection has no room for is lost: a frame like this is a hint.
func (c *Call) Tell(agent wire.AgentID, kind string, members wire.M) {
	frame, err := appendMembers([]byte(`{"push":"`+kind+`",`), members)
	if err != nil {
		c.server.opts.Log.Error("telling failed", "agent", agent, "error", err)
		return
	}
	frame = append(frame, '}')
	for _, s := range c.server.sockets.of(agent) {
		s.hint(frame)
	}
}

// isServiceKey reports whether a record is a service's.
func isServiceKey(key string) bool { return key != "" && 'A' <= key[0] && key[0] <= 'Z' }

// useServices adds what the options have. What cannot be added is part of the program,
// not of its input.
func (s *Server) useServices() {
	for _, v := range s.opts.Services {
		s.use(v)
	}
	var err error
	if s.api, err = describe(s.opts.Services); err != nil {
		panic("relay: " + err.Error())
	}
}

// use adds the operations of a service. A name that is in use is a mistake of whoever
// put the server together.
func (s *Server) use(v Service) {
	for _, o := range v.Operations {
		if s.ops[o.Name] != nil {
			panic("relay: there are two operations " + o.Name)
		}
		s.ops[o.Name] = &operation{name: o.Name, members: o.Members, codes: o.Codes, do: func(ctx context.Context, c *call, dst []byte) ([]byte, error) {
			answer, err := o.Do(ctx, &Call{Agent: c.agent, Request: c.r, server: s})
			if errors.Is(err, ruleRequest) {
				return dst, bad(err)
			}
			return append(dst, answer.Canonical()...), rejected(err)
		}}
	}
	if v.Counts == nil {
		return
	}
	for name := range v.Counts() {
		s.opts.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "concordia_relay", Subsystem: v.Name, Name: name, Help: "How many " + name + " there are.",
		}, func() float64 { return float64(v.Counts()[name]) }))
	}
}

// sweepServices removes what is over in the services, all of which get their turn.
func (s *Server) sweepServices(ctx context.Context) error {
	var failed error
	for _, v := range s.opts.Services {
		if v.Sweep == nil {
			continue
		}
		n, err := v.Sweep(ctx)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("sweeping the %s: %w", v.Name, err))
		}
		s.metrics.swepts.WithLabelValues(v.Name).Add(float64(n))
	}
	return failed
}

// serviceLimits are the limits of the services, by their names.
func (s *Server) serviceLimits() map[string]any {
	all := map[string]any{}
	for _, v := range s.opts.Services {
		all[v.Name] = v.Limits
	}
	return all
}

// hints are frames for one connection that say nothing that cannot be asked for.
type hints struct {
	mu      sync.Mutex
	frames  [][]byte
	running bool
}

// maxHints bounds the hints that wait for a client to take them.
const maxHints = 64

// hint sends a frame as soon as the client takes it, unless too many wait.
func (c *socket) hint(frame []byte) {
	h := &c.hints
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.frames) >= maxHints || c.closing.Load() {
		return
	}
	h.frames = append(h.frames, frame)
	if !h.running {
		h.running = true
		c.server.workers.do(c.sendHints)
	}
}

func (c *socket) sendHints() {
	h := &c.hints
	for {
		h.mu.Lock()
		if len(h.frames) == 0 || c.closing.Load() {
			h.frames, h.running = nil, false
			h.mu.Unlock()
			return
		}
		frame := h.frames[0]
		h.frames = h.frames[1:]
		h.mu.Unlock()
		c.write(frame)
	}
}

// describe returns openapi.json with the operations of the services.
func describe(services []Service) ([]byte, error) {
	if len(services) == 0 {
		return openAPI, nil
	}
	var doc map[string]any
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		return nil, err
	}
	paths := doc["paths"].(map[string]any)
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	frame := schemas["request_frame"].(map[string]any)["properties"].(map[string]any)["op"].(map[string]any)
	info := schemas["info"].(map[string]any)["properties"].(map[string]any)
	info["services"] = wire.M{"type": "object", "description": "The limits of more that the relay does, by its name."}
	for _, v := range services {
		for name, schema := range v.Schemas.Members() {
			if schemas[name] != nil {
				return nil, fmt.Errorf("describing the %s: there are two schemas %s", v.Name, name)
			}
			schemas[name] = schema
		}
		for _, o := range v.Operations {
			frame["enum"] = append(frame["enum"].([]any), o.Name)
			paths["/v1/"+o.Name] = wire.M{"post": o.route()}
		}
	}
	return json.MarshalIndent(doc, "", " ")
}

// descriptions are what the statuses of refusals mean.
var descriptions = map[int]string{
	400: "It is not a request of this text.", 401: "No token, or none that counts.", 403: "It is not yours.",
	404: "There is none, or none that you may know of.", 409: "It does not fit what is there.", 422: "It breaks a rule of SPEC.",
	429: "It exceeds a limit, or comes too fast.", 500: "The relay could not.", 503: "The relay is stopping.",
}

// route describes an operation as openapi.json does.
func (o *Operation) route() wire.M {
	ref := func(schema string) wire.M { return wire.M{"$ref": "#/components/schemas/" + schema} }
	content := func(schema any) wire.M { return wire.M{"application/json": wire.M{"schema": schema}} }
	byStatus := map[int][]string{}
	for _, code := range append(append([]Code{}, commonCodes...), o.Codes...) {
		byStatus[status[code]] = append(byStatus[status[code]], string(code))
	}
	responses := wire.M{"200": wire.M{"description": "Done.", "content": content(ref(o.Name + "_answer"))}}
	for code, names := range byStatus {
		r := wire.M{"description": descriptions[code], "content": content(wire.M{"allOf": []any{ref("refusal"), wire.M{
			"type": "object", "properties": wire.M{"error": wire.M{"type": "object", "properties": wire.M{"code": wire.M{"enum": names}}}},
		}}})}
		if code == 429 || code == 503 {
			r["headers"] = wire.M{"Retry-After": wire.M{"schema": wire.M{"type": "integer"}}}
		}
		responses[strconv.Itoa(code)] = r
	}
	return wire.M{
		"operationId": o.Name, "summary": o.Summary, "responses": responses,
		"requestBody": wire.M{"required": true, "content": content(ref(o.Name))},
	}
}
