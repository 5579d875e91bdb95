package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/wire"
)

// A question is what decides, in a message, who answers it.
type question struct {
	method, revision string
	client           clientName
}

// Why a message is refused.
var (
	errBatch = errors.New("want one message: batches are not taken")
	errTwice = errors.New("a member of the message or of its params is there twice, in one spelling or in two")
	errID    = errors.New("the id of a message is a string or an integer")
)

// readQuestion reads a message of JSON-RPC as far as it is the same for every reader: a
// member that is there twice, or that differs from another in case alone, is one thing to
// who judges a message on its way here and another to who carries it out. What the
// arguments of a tool have in them the tool judges.
func readQuestion(data []byte) (q question, err error) {
	message, err := members(data)
	if err != nil {
		return q, err
	}
	if id := message["id"]; id != nil && id.Kind() != '"' && (id.Kind() != '0' || bytes.ContainsAny(id, ".eE")) {
		return q, errID
	}
	var params map[string]jsontext.Value
	if p := message["params"]; p != nil && p.Kind() == '{' {
		if params, err = members(p); err != nil {
			return q, err
		}
	}
	_ = json.Unmarshal(message["method"], &q.method) // what is no text is no method
	if params["_meta"] == nil {
		return q, nil
	}
	meta, err := wire.Parse(params["_meta"], wire.DocumentLimits)
	if err != nil {
		return q, fmt.Errorf("reading _meta: %w", err)
	}
	revision, _ := meta.Get(mcp.MetaKeyProtocolVersion)
	name, _ := meta.At(mcp.MetaKeyClientInfo, "name")
	version, _ := meta.At(mcp.MetaKeyClientInfo, "version")
	q.revision, q.client = revision.Text(), clientName{name.Text(), version.Text()}
	if q.client.size() > maxShownName {
		q.client = clientName{}
	}
	return q, nil
}

// members reads the members of an object, and does not look into them.
func members(data []byte) (map[string]jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	begin, err := d.ReadToken()
	switch {
	case err != nil:
		return nil, err
	case begin.Kind() == '[':
		return nil, errBatch
	case begin.Kind() != '{':
		return nil, errors.New("want an object")
	}
	all, folded := map[string]jsontext.Value{}, map[string]bool{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		if f := fold(text); folded[f] {
			return nil, errTwice
		} else {
			folded[f] = true
		}
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		all[text] = v.Clone()
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("want nothing after the message")
	}
	return all, nil
}

// fold makes one of texts that differ in case alone, as strings.EqualFold compares them.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}

// refused is the answer to a message that cannot be read; nobody knows its id.
func refused(err error) []byte {
	code := jsonrpc.CodeInvalidRequest
	if _, syntax := errors.AsType[*jsontext.SyntacticError](err); syntax || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		code, err = jsonrpc.CodeParseError, errors.New("the message is no JSON")
	}
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": err.Error()}}) // texts and numbers alone
	return text
}
