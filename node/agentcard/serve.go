package agentcard

import (
	"context"
	"crypto/rand"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// Bounds of a request.
const (
	maxRequest = a2a.MaxPartSize + 64<<10 // bytes
	maxParts   = 16
	patience   = 30 * time.Second // until it is read
)

// requestLimits leave room for a part and what is around it.
var requestLimits = wire.Limits{Size: maxRequest, Depth: wire.MaxDepth + wire.WrapperDepth + 8}

// Methods, by their name in A2A 1.0 and in 0.3.
const (
	methodSend    = "SendMessage"
	methodSendOld = "message/send"
)

// refused are methods that A2A has and this node does not.
var refused = map[string]code{
	"SendStreamingMessage": codeUnsupported, "message/stream": codeUnsupported,
	"GetTask": codeNoTask, "tasks/get": codeNoTask,
	"CancelTask": codeNoTask, "tasks/cancel": codeNoTask,
	"SubscribeToTask": codeNoTask, "tasks/resubscribe": codeNoTask,
}

// Handler answers at PathCard and PathRPC for a node with a public address.
func Handler(n *node.Node) http.Handler {
	s := server{n}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathCard, s.card)
	mux.HandleFunc("POST "+PathRPC, s.call)
	return mux
}

type server struct{ node *node.Node }

func (s server) card(w http.ResponseWriter, r *http.Request) {
	self, err := s.node.Self(r.Context())
	if err == nil && self.Public == "" {
		http.NotFound(w, r)
		return
	}
	card, err := Card(self)
	if err != nil {
		http.Error(w, texts[codeInternal], http.StatusInternalServerError)
		return
	}
	write(w, http.StatusOK, card)
}

// call carries out a call of JSON-RPC.
func (s server) call(w http.ResponseWriter, r *http.Request) {
	call, err := s.read(w, r)
	var result wire.Value
	if err == nil {
		result, err = s.do(r.Context(), call, Activated(r.Header))
	}
	status := http.StatusOK
	if err == nil {
		echo(w.Header(), r.Header)
	} else if f := faultOf(err); f.status != 0 {
		status = f.status
	}
	v, err := wire.Encode(call.answer(result, err))
	if err != nil {
		http.Error(w, texts[codeInternal], http.StatusInternalServerError)
		return
	}
	write(w, status, v)
}

func write(w http.ResponseWriter, status int, v wire.Value) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, v.Canonical()) // the other side may be gone
}

// read reads a call, if there are not too many.
func (s server) read(w http.ResponseWriter, r *http.Request) (request, error) {
	if !s.node.Admits(r) {
		w.Header().Set("Retry-After", "60")
		return request{}, &fault{code: codeRefused, reason: "rate", status: http.StatusTooManyRequests}
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return request{}, &fault{code: codeRequest, status: http.StatusUnsupportedMediaType}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience)) // if there is a connection
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return request{}, &fault{code: codeParse, status: http.StatusRequestEntityTooLarge}
	}
	call, err := readRequest(text)
	if err == nil {
		err = checkVersion(r.Header)
	}
	return call, err
}

// do carries out a call for which extensions are active.
func (s server) do(ctx context.Context, call request, active []string) (wire.Value, error) {
	if call.method != methodSend && call.method != methodSendOld {
		f := &fault{code: codeMethod}
		if c, known := refused[call.method]; known {
			f.code = c
		}
		return wire.Value{}, f
	}
	part, err := carrierOf(call.params)
	if err != nil {
		return wire.Value{}, err
	}
	if err := s.take(ctx, part, active); err != nil {
		return wire.Value{}, err
	}
	return taken(call.method, rand.Text())
}

// carrierOf returns the one part of the extension in the message that is sent.
func carrierOf(params wire.Value) (part wire.Value, err error) {
	message, _ := params.Get("message")
	id, _ := message.Get("messageId")
	role, _ := message.Get("role")
	parts, _ := message.Get("parts")
	fromUser := role.Text() == "ROLE_USER" || role.Text() == "user"
	if id.Text() == "" || !fromUser || parts.Kind() != wire.Array || parts.Len() == 0 || parts.Len() > maxParts {
		return part, &fault{code: codeParams}
	}
	found := 0
	for _, p := range parts.Elems() {
		if isCarrier(p) {
			part = p
			found++
		}
	}
	switch found {
	case 0:
		return part, &fault{code: codeContent}
	case 1:
		return part, nil
	}
	return part, &fault{code: codeParams} // of two, one could be taken and the other not
}

// isCarrier reports whether a part says in any way that it is one of the extension.
func isCarrier(part wire.Value) bool {
	mediaType, _ := part.Get("mediaType")
	partType, _ := part.At("data", "type")
	_, marked := part.At("metadata", a2a.ExtensionURI)
	return marked || mediaType.Text() == a2a.MediaType || strings.HasPrefix(partType.Text(), a2a.ExtensionURI+"#")
}

// take has the node take what is in a part.
func (s server) take(ctx context.Context, part wire.Value, active []string) error {
	if t, _ := part.At("data", "type"); t.Text() == a2a.EnclosureType {
		invitation, err := a2a.ReadEnclosure(part, active)
		if err != nil {
			return err
		}
		return s.node.TakeInvitation(ctx, invitation)
	}
	u, err := a2a.Read(part, active)
	if err != nil {
		return err
	}
	return s.node.TakeMessage(ctx, u)
}
