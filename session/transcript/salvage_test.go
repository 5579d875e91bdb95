package transcript_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

func accept(wire.Value) error { return nil }

// receipt returns the receipt of a session, countersigned by alice and bob.
func receipt(t *testing.T, session wire.SessionID) wire.Value {
	t.Helper()
	v, err := attest.Draft{
		ID: "att_" + string(session), Session: session, Time: epoch,
		Outcome: attest.Outcome{Status: attest.StatusRejected, Rounds: 3, TermsCount: 1, Mechanism: attest.MechanismNone},
		Parties: []attest.Party{{Agent: "alice", Role: attest.RoleInitiator}, {Agent: "bob", Role: attest.RoleResponder}},

		TranscriptHash: wire.HashOf("transcript"), ChainHead: wire.HashOf("head"), MessageCount: 2,
	}.Value()
	for _, who := range []string{"alice", "bob"} {
		if err == nil {
			v, err = attest.Countersign(v, wire.AgentID(who), key(t, who))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// with returns m with one more member, signed again.
func with(t *testing.T, m *wire.Message, name string, v wire.Value) *wire.Message {
	t.Helper()
	unsigned := m.Value().Without("signature").With(name, v)
	sig, err := key(t, "alice").Sign([]byte(unsigned.Canonical()))
	if err != nil {
		t.Fatal(err)
	}
	u, err := wire.ReadMessage(unsigned.With("signature", wire.Text(sig.String())))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := u.Verify(wire.KeyMap{"alice": key(t, "alice").Public()})
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// Only receipts that verify are brought over, and nothing in a message is one.
func TestSalvageReceipts(t *testing.T) {
	path := storePath(t)
	s := open(t, path)
	first := chain(t, s, "ses_a", 1)[0]
	last := with(t, message(t, "ses_a", "m1", first.Hash()), "concordia_attestation", wire.Text("0.5.0"))
	if err := s.Append(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	good := receipt(t, "ses_a")
	outcome, _ := good.Get("outcome")
	forged := good.With("outcome", outcome.With("status", wire.Text("agreed"))).With("attestation_id", wire.Text("att_forged"))
	for id, v := range map[string]wire.Value{
		"good":   good,
		"forged": forged,
		"bare":   good.Without("countersignatures"), // a copy of good from before it was signed
		"lost":   receipt(t, "ses_lost"),
	} {
		if err := s.PutReceipt(t.Context(), "ses_a", id, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	keys := wire.KeyMap{"alice": key(t, "alice").Public(), "bob": key(t, "bob").Public()}
	verify := func(v wire.Value) error {
		_, report := attest.Verifier{Keys: keys, Now: epoch.Add(time.Hour)}.VerifyAttestation(v)
		return report.Err()
	}
	into := open(t, storePath(t))
	got, err := transcript.Salvage(t.Context(), path, into, keys, verify)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(transcript.Salvaged{Sessions: 1, Messages: 2, Receipts: 1, Dropped: 2}, got); diff != "" {
		t.Errorf("salvaged (-want +got):\n%s", diff)
	}
	kept, err := into.Receipts("ses_a")
	if err != nil || len(kept) != 1 || !kept[0].Equal(good) {
		t.Errorf("kept %v, %v, want only the receipt that verifies", kept, err)
	}
	if _, err := transcript.Salvage(t.Context(), "absent.db", into, keys, verify); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("salvaging no file: %v", err)
	}
}
