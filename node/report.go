package node

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/wire"
)

// A report is what the reference implementation sends to a provider of reputation: an
// HTTP POST to ENDPOINT/api/publish with
//
//	{"type": "concordia-receipt", "publicKey": …, "signature": …, "data": {"did": …, "receipt": …}}
//
// whose receipt is a cosigned receipt (SPEC §9.6.9), signed by the counterparty or not. The
// did is the key in the spelling of that kind, and the publisher in the receipt. The
// signature is over the canonical JSON of data; it and the key are unpadded base64url.
const reportPath = "/api/publish"

// maxReportTo is how many providers a policy allows.
const maxReportTo = 16

// reporter asks providers: over HTTPS, wherever they are.
func (n *Node) reporter() *outbound.Client {
	c := *n.outbound
	c.Plain = false
	return &c
}

// checkReportTo checks the providers of a policy.
func (p *Policy) checkReportTo() error {
	if len(p.ReportTo) > maxReportTo {
		return fmt.Errorf("report_to: more than %d", maxReportTo)
	}
	c := outbound.Client{HighPorts: true}
	for i, to := range p.ReportTo {
		if c.CheckURL(to+reportPath) != nil || strings.ContainsAny(to, "?#") {
			return fmt.Errorf("report_to[%d]: want an https URL without a query", i)
		}
	}
	return nil
}

// provider returns the endpoint of a provider, if the policy allows it.
func (n *Node) provider(endpoint string) (string, error) {
	plain := func(s string) string { return strings.TrimRight(s, "/") }
	switch allowed := n.opts.Policy.ReportTo; {
	case n.reporter().CheckURL(endpoint) != nil:
		return "", refuse(CodeBadRequest, "want the https URL of a provider")
	case len(allowed) == 0:
		return "", refuse(CodePolicy, "reports are off: the owner of the node allows a provider by naming its endpoint in report_to, in the policy")
	case !slices.ContainsFunc(allowed, func(s string) bool { return plain(s) == plain(endpoint) }):
		return "", refuse(CodePolicy, "the owner of the node does not allow this provider: report_to, in the policy, names those that are")
	}
	return plain(endpoint), nil
}

// cosigned makes the receipt of a report, which the counterparty has not signed.
func (n *Node) cosigned(r ownReceipt) (wire.Value, error) {
	none := wire.Value{}
	if len(r.Parties) != 2 {
		return none, refuse(CodeBadRequest, "a report is of two parties, and the session has others")
	}
	own := slices.IndexFunc(r.Parties, func(p attest.Party) bool { return p.Agent == n.agent })
	key, err := n.Key(r.Parties[1-own].Agent, r.Time)
	if err != nil {
		return none, err
	}
	told, err := n.confirmed(r)
	if err != nil {
		return none, err
	}
	v, err := attest.Cosigned(told, n.agent, key)
	if err != nil {
		return none, err
	}
	// Who reads it knows the publisher by its key.
	parties, _ := v.Get("parties")
	publisher, _ := v.At("parties", "0")
	did := wire.Text(string(wire.ReferenceDIDKey(n.opts.Key.Public())))
	return v.With("parties", parties.WithElem(0, publisher.With("agent_id", did))), nil
}

// confirmed returns a receipt with what the counterparty signed of its fulfillment and no more:
// the status beside its words is nobody's.
func (n *Node) confirmed(r ownReceipt) (*attest.Attestation, error) {
	by, honored, ok := r.Statement()
	if !ok || isSame(by, n.agent) { // one's own word
		return attest.ReadAttestation(r.value.Without("fulfillment"))
	}
	status := "disputed"
	if honored {
		status = "fulfilled"
	}
	f, _ := r.value.Get("fulfillment")
	return attest.ReadAttestation(r.value.With("fulfillment", f.With("status", wire.Text(status))))
}

var errCosigned = refuse(CodeBadRequest, "the cosigned receipt is not the one of this session, signed by the counterparty: a dry run returns what it has to sign")

// Report implements [API].
func (n *Node) Report(ctx context.Context, r Reporting) (Reported, error) {
	done := Reported{Endpoint: r.Endpoint, DID: wire.ReferenceDIDKey(n.opts.Key.Public())}
	endpoint, err := n.provider(r.Endpoint)
	if err != nil {
		return done, err
	}
	of, err := n.receiptOf(ctx, r.Session)
	if err != nil {
		return done, n.failed(err)
	}
	if done.Receipt, err = n.cosigned(of); err != nil {
		return done, n.failed(err)
	}
	done.Outcome = of.Outcome.Status
	if status, _ := done.Receipt.At("fulfillment", "status"); r.Fulfillment != "" && status.Text() != r.Fulfillment {
		return done, refuse(CodeBadRequest, "the receipt says something else of the fulfillment: only what it says is reported")
	}
	if r.Cosigned.Kind() != wire.Absent {
		f := attest.Verifier{Keys: n, Now: n.now()}
		if _, report := f.VerifyCosigned(r.Cosigned, done.DID); report.Err() != nil || !r.Cosigned.StripSignatures().Equal(done.Receipt.StripSignatures()) {
			return done, errCosigned
		}
		done.Receipt, done.Cosigned = r.Cosigned, true
	}
	if r.DryRun {
		return done, nil
	}
	body, err := n.publication(done)
	if err != nil {
		return done, n.failed(err)
	}
	answer, err := n.reporter().Post(ctx, endpoint+reportPath, []byte(body.Canonical()))
	if err := n.refusedBy(ctx, err); err != nil {
		return done, err
	}
	done.Sent = true
	if v, err := wire.Parse(answer, wire.Limits{Size: outbound.DefaultMaxBody, Depth: 16, Values: 4096}); err == nil {
		done.Answer = v
	}
	n.log.Info("a session was reported", "session", r.Session)
	return done, nil
}

// publication is the signed body of a report.
func (n *Node) publication(r Reported) (wire.Value, error) {
	data, err := wire.Encode(wire.M{"did": r.DID, "receipt": r.Receipt})
	if err != nil {
		return data, err
	}
	signature, err := n.opts.Key.Sign([]byte(data.Canonical()))
	if err != nil {
		return data, err
	}
	return wire.Encode(wire.M{
		"type": "concordia-receipt", "data": data,
		"publicKey": base64.RawURLEncoding.EncodeToString(n.opts.Key.Public().Bytes()),
		"signature": base64.RawURLEncoding.EncodeToString(signature[:]),
	})
}

// refusedBy says why a provider did not take a report; nil if it did.
func (n *Node) refusedBy(ctx context.Context, err error) error {
	e, ok := errors.AsType[*outbound.Error](err)
	switch {
	case err == nil, ok && e.Status/100 == 2: // created, or accepted
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !ok:
		return n.failed(err)
	}
	code := CodeUnreachable
	text := e.Error()
	switch e.Why {
	case outbound.ErrStatus:
		code, text = CodeRefused, "the provider refuses: it answers with status "+strconv.Itoa(e.Status)+" "+http.StatusText(e.Status)
	case outbound.ErrRedirect:
		code, text = CodeRefused, "the provider redirects, and a report is sent nowhere else"
	case outbound.ErrAddress, outbound.ErrURL, outbound.ErrPort:
		code = CodePolicy
	}
	return &Error{Code: code, Message: text, err: err}
}
