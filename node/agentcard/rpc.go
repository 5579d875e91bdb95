package agentcard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// A code is one of JSON-RPC, or of A2A's own.
type code int

const (
	codeParse       code = -32700
	codeRequest     code = -32600
	codeMethod      code = -32601
	codeParams      code = -32602
	codeInternal    code = -32603
	codeRefused     code = -32000 // the node does not take it
	codeNoTask      code = -32001
	codeUnsupported code = -32004
	codeContent     code = -32005 // there is nothing for this node in the message
	codeInactive    code = -32008 // the extension has to be asked for
	codeVersion     code = -32009
)

// texts are all that an error says in words.
var texts = map[code]string{
	codeParse:       "the request is no JSON within the limits",
	codeRequest:     "the request is none of JSON-RPC 2.0 with an id",
	codeMethod:      "there is no such method",
	codeParams:      "the message or its part is malformed",
	codeInternal:    "the node could not",
	codeRefused:     "the node does not take it",
	codeNoTask:      "there are no tasks here",
	codeUnsupported: "the node does not stream",
	codeContent:     "want a part of the extension " + a2a.ExtensionURI,
	codeInactive:    "want the header " + Header + ": " + a2a.ExtensionURI,
	codeVersion:     "want A2A 1.0 or 0.3",
}

// A fault is why a request was not carried out.
type fault struct {
	code   code
	reason string     // the node's code, or ""
	rule   *wire.Rule // which was broken, or nil
	status int        // of HTTP; 0: 200, as JSON-RPC has it
}

func (f *fault) Error() string { return texts[f.code] }

// faultOf keeps of an error what the other side may hear: no text and no pointer, which
// may repeat what it wrote.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		f := &fault{code: codeParams, rule: v.Rule}
		if v.Rule == a2a.RuleInactive {
			f.code = codeInactive
		}
		if e, ok := errors.AsType[*node.Error](err); ok {
			f.reason = string(e.Code)
			if e.Code != node.CodeRule {
				f.code = codeRefused
			}
		}
		return f
	}
	e, ok := errors.AsType[*node.Error](err)
	switch {
	case !ok || e.Code == node.CodeInternal || e.Code == node.CodeClosed:
		return &fault{code: codeInternal}
	case e.Code == node.CodeBadRequest:
		return &fault{code: codeParams, reason: string(e.Code)}
	}
	return &fault{code: codeRefused, reason: string(e.Code)}
}

// A request is one call of JSON-RPC.
type request struct {
	id     wire.Value
	method string
	params wire.Value
}

// maxID bounds the id of a request in bytes.
const maxID = 256

// readRequest reads a call. What can be read of it before a fault is returned with it.
func readRequest(text []byte) (r request, err error) {
	v, err := wire.Parse(text, requestLimits)
	if err != nil {
		return r, &fault{code: codeParse}
	}
	version, _ := v.Get("jsonrpc")
	method, _ := v.Get("method")
	id, _ := v.Get("id")
	r.method = method.Text()
	r.params, _ = v.Get("params")
	if k := id.Kind(); (k == wire.String || k == wire.Number) && len(id.Canonical()) <= maxID {
		r.id = id
	}
	if r.id.Kind() == wire.Absent || version.Text() != "2.0" || r.method == "" {
		return r, &fault{code: codeRequest}
	}
	return r, nil
}

// checkVersion refuses a version of A2A that is neither 1.0 nor 0.3. None is 0.3.
func checkVersion(h http.Header) error {
	for _, v := range h.Values("A2A-Version") {
		major, rest, _ := strings.Cut(strings.TrimSpace(v), ".")
		minor, _, _ := strings.Cut(rest, ".") // a patch does not count
		if v != "" && major+"."+minor != "1.0" && major+"."+minor != "0.3" {
			return &fault{code: codeVersion}
		}
	}
	return nil
}

// answer returns what the request is answered with: result, or why there is none.
func (r request) answer(result wire.Value, err error) wire.M {
	m := wire.M{"jsonrpc": "2.0", "id": r.id}
	if r.id.Kind() == wire.Absent {
		m["id"] = nil
	}
	if err == nil {
		m["result"] = result
		return m
	}
	f := faultOf(err)
	e := wire.M{"code": int(f.code), "message": f.Error()}
	details := wire.M{}
	reason := f.reason
	if f.reason != "" {
		details["code"] = f.reason
	}
	if f.rule != nil {
		details["rule"], details["section"] = f.rule.Name, f.rule.Section
		reason = f.rule.Name
	}
	if reason != "" {
		e["data"] = []wire.M{{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "concordiaprotocol.dev",
			"reason": strings.ToUpper(strings.ReplaceAll(reason, "-", "_")), "metadata": details,
		}}
	}
	m["error"] = e
	return m
}

// taken is the result of a call that was carried out, in the form of the A2A version
// that has the method.
func taken(method, id string) (wire.Value, error) {
	m := wire.M{"messageId": id, "extensions": []string{a2a.ExtensionURI}}
	if method == methodSend {
		m["role"], m["parts"] = "ROLE_AGENT", []wire.M{{"text": "taken"}}
		return wire.Encode(wire.M{"message": m})
	}
	m["kind"], m["role"], m["parts"] = "message", "agent", []wire.M{{"kind": "text", "text": "taken"}}
	return wire.Encode(m)
}
