package attest_test

import (
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

func judgeCompetence(tb testing.TB, more ...wire.Check[*attest.CompetenceSubject]) func(wire.Value) wire.Report {
	f := everybody(tb)
	return func(v wire.Value) wire.Report {
		_, report := f.VerifyCompetence(v, more...)
		return report
	}
}

func competenceSpecimen(tb testing.TB) specimen {
	return specimen{
		name: "competence", value: competence(tb, receiptsOf(tb, 2), 1), sign: signCompetence, verify: judgeCompetence(tb),
		tolerated: map[string]string{"drop /concordia_competence_proof": "the published contract does not require it"},
	}
}

// rootOf returns the root over the ids of receipts.
func rootOf(tb testing.TB, receipts []wire.Value) wire.Value {
	root, _ := competence(tb, receipts).Get("attestation_merkle_root")
	return root
}

func TestCompetence(t *testing.T) {
	// Three of four are revealed: 2, 0, 3.
	sound := func(tb testing.TB) wire.Value { return competence(tb, receiptsOf(tb, 4), 0, 2, 3) }
	full := func(tb testing.TB) wire.Value { return competence(tb, receiptsOf(tb, 3), 0, 1, 2) }
	of := func(make func(testing.TB) wire.Value, change func(testing.TB, wire.Value) wire.Value) func(testing.TB, wire.Value) wire.Value {
		return func(tb testing.TB, _ wire.Value) wire.Value { return change(tb, make(tb)) }
	}
	faults := append(receiptFaults("revealed_attestations"), []historyFault{
		{"sound", "", func(_ testing.TB, v wire.Value) wire.Value { return v }},
		{"another member", "", set("note", `"the shape is open"`)},
		{"its version", "history-version at /concordia_competence_proof", set("concordia_competence_proof", `"0.2.0"`)},
		{"its id", "competence at /proof_id", set("proof_id", `"bundle_00"`)},
		{"its agent", "competence at /agent_id", set("agent_id", `"two words"`)},
		{"no time", "competence-claims at /created_at", set("created_at", `"2026-09-14"`)},
		{"nine figures", "competence-claims at /claims", set("claims/reasoning_rate", ``)},
		{"a share above 1", "competence-claims at /claims/agreement_rate", set("claims/agreement_rate", `1.5`)},
		{"claims in a list", "competence at /claims", set("claims", `[]`)},
		{"a root in capitals", "competence at /attestation_merkle_root", set("attestation_merkle_root", `"`+"ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789"+`"`)},
		{"a negative count", "competence at /attestation_count", set("attestation_count", `-1`)},
		{"no receipt", "competence at /revealed_attestations/0", set("revealed_attestations", `[7]`)},
		{"a receipt without id", "competence at /revealed_attestations/0/attestation_id", set("revealed_attestations/0/attestation_id", ``)},
		{"a negative index", "competence at /merkle_proofs/0/index", set("merkle_proofs/0/index", `-1`)},
		{"the skew", "", set("created_at", `"2026-09-14T10:02:00Z"`)},
		{"of the future", "not-yet-valid at /created_at", set("created_at", `"2026-09-14T10:02:01Z"`)},
		{"90 days", "", set("created_at", `"2026-06-16T10:00:00Z"`)},
		{"old", "age at /created_at", set("created_at", `"2026-06-16T09:59:59Z"`)},
		{"another count", "competence-count at /attestation_count", set("claims/total_negotiations", `5`)},
		{"claims that nobody can check", "", set("claims/fulfillment_rate", `0.3333`)},
		{"more agreements than receipts", "competence-figures at /claims/agreements", set("claims/agreements", `5`)},
		{"another rate", "competence-figures at /claims/agreement_rate", set("claims/agreement_rate", `1`)},
		{"a magnitude above 1", "competence-figures at /claims/avg_concession_magnitude", set("claims/avg_concession_magnitude", `1.0001`)},
		{"a magnitude of five decimals", "competence-figures at /claims/avg_concession_magnitude", set("claims/avg_concession_magnitude", `0.12345`)},
		{"a rate of five decimals", "competence-figures at /claims/fulfillment_rate", set("claims/fulfillment_rate", `0.12345`)},
		{"a quarter reasoned", "", set("claims/reasoning_rate", `0.25`)},
		{"a third of four reasoned", "competence-figures at /claims/reasoning_rate", set("claims/reasoning_rate", `0.3333`)},
		{"nobody dealt with", "competence-figures at /claims/unique_counterparties", set("claims/unique_counterparties", `0`)},
		{"everybody dealt with", "", set("claims/unique_counterparties", `252`)},
		{"more than everybody dealt with", "competence-figures at /claims/unique_counterparties", set("claims/unique_counterparties", `253`)},
		{"no categories", "", set("claims/categories", `[]`)},
		{"unsorted categories", "competence-figures at /claims/categories", set("claims/categories", `["z","a"]`)},
		{"a category twice", "competence-figures at /claims/categories", set("claims/categories", `["a","a"]`)},
		{"no category", "competence-figures at /claims/categories", set("claims/categories", `["A b"]`)},
		{"more categories than receipts", "competence-figures at /claims/categories", set("claims/categories", `["a","b","c","d","e"]`)},
		{"never", "competence-figures at /claims/earliest", set("claims/earliest", `"never"`)},
		{"without latest", "competence-figures at /claims/latest", set("claims/latest", `""`)},
		{"backwards", "competence-figures at /claims/latest", set("claims/latest", `"2020-01-01T00:00:00Z"`)},
		{"in the order of the text", "", set("claims/latest", `"2026-09-14T09:00:00+23:00"`)},
		{"another root", "competence-membership at /merkle_proofs/0", func(tb testing.TB, v wire.Value) wire.Value {
			return v.With("attestation_merkle_root", rootOf(tb, receiptsOf(tb, 3)))
		}},
		{"no proof", "competence-membership at /revealed_attestations/0", set("merkle_proofs", `[]`)},
		{"an index beyond", "competence-membership at /merkle_proofs/0", set("merkle_proofs/0/index", `4`)},
		{"the index of another", "competence-membership at /merkle_proofs/0", set("merkle_proofs/0/index", `1`)},
		{"index 0 left out", "", set("merkle_proofs/0/index", ``)},
		{"a proof left out", "competence-membership at /merkle_proofs/0", set("merkle_proofs/0/proof", ``)},
		{"the proof of another", "competence-membership at /merkle_proofs/0", set("merkle_proofs/0/attestation_id", `"att_1"`)},
		{"a proof twice", "history-duplicate at /merkle_proofs/3/attestation_id", func(tb testing.TB, v wire.Value) wire.Value {
			proofs, _ := v.Get("merkle_proofs")
			list := elems(proofs)
			return v.With("merkle_proofs", encode(tb, append(list, list[0])))
		}},
		{"a proof of what is hidden", "", func(tb testing.TB, v wire.Value) wire.Value {
			all, _ := competence(tb, receiptsOf(tb, 4), 0, 1, 2, 3).Get("merkle_proofs")
			return v.With("merkle_proofs", all)
		}},
		{"a receipt twice", "history-duplicate at /revealed_attestations/1/attestation_id", func(tb testing.TB, v wire.Value) wire.Value {
			r, _ := v.At("revealed_attestations", "0")
			return v.With("revealed_attestations", encode(tb, []wire.Value{r, r}))
		}},
		{"the size", "history-size at /merkle_proofs", func(tb testing.TB, v wire.Value) wire.Value {
			list := make([]wire.M, attest.MaxReceipts+1)
			for i := range list {
				list[i] = wire.M{"attestation_id": "att_0"}
			}
			v = edit(tb, v.With("revealed_attestations", encode(tb, list)), `2000`, "attestation_count")
			return edit(tb, v, `2000`, "claims", "total_negotiations")
		}},
		{"full", "", of(full, func(_ testing.TB, v wire.Value) wire.Value { return v })},
		{"full, other claims", "history-summary at /claims/avg_concession_magnitude", of(full, set("claims/avg_concession_magnitude", `0.5`))},
		{"full, fulfilled by word", "history-summary at /claims/fulfillment_rate", of(full, set("claims/fulfillment_rate", `1`))},
		{"full, more revealed than there are", "competence-count at /revealed_attestations", of(full, func(tb testing.TB, v wire.Value) wire.Value {
			v = edit(tb, v, `2`, "attestation_count")
			return edit(tb, v, `2`, "claims", "total_negotiations")
		})},
		{"full, a hidden leaf", "competence-membership at /merkle_proofs/2", func(tb testing.TB, v wire.Value) wire.Value {
			// Four are committed to, three claimed: the trees are equally high, but the third
			// of three is paired with itself.
			three := receiptsOf(tb, 3)
			return v.With("claims", attest.Summarize(holder, readReceipts(tb, three)).Value()).
				With("attestation_count", encode(tb, 3)).
				With("merkle_proofs", memberOf(competence(tb, receiptsOf(tb, 4), 0, 1, 2), "merkle_proofs")).
				With("revealed_attestations", encode(tb, three))
		}},
		{"nothing", "", of(func(tb testing.TB) wire.Value { return competence(tb, nil) }, func(_ testing.TB, v wire.Value) wire.Value { return v })},
		{"one, of two times", "competence-figures at /claims/latest", of(func(tb testing.TB) wire.Value { return competence(tb, receiptsOf(tb, 1)) }, set("claims/latest", `"2027-09-14T09:00:00Z"`))},
		{"nothing, with a time", "competence-figures at /claims/earliest", of(func(tb testing.TB) wire.Value { return competence(tb, nil) }, set("claims/earliest", `"2026-09-14T09:00:00Z"`))},
		{"nothing, with claims", "competence-figures at /claims/agreements", of(func(tb testing.TB) wire.Value { return competence(tb, nil) }, set("claims/agreements", `9`))},
		{"nothing, with a root", "competence-root at /attestation_merkle_root", of(func(tb testing.TB) wire.Value { return competence(tb, nil) }, func(tb testing.TB, v wire.Value) wire.Value {
			return v.With("attestation_merkle_root", rootOf(tb, receiptsOf(tb, 1)))
		})},
		{"nothing revealed", "", of(func(tb testing.TB) wire.Value { return competence(tb, receiptsOf(tb, 4)) }, func(_ testing.TB, v wire.Value) wire.Value { return v })},
	}...)
	runFaults(t, sound, signCompetence, judgeCompetence(t), faults)
}

func memberOf(v wire.Value, name string) wire.Value { m, _ := v.Get(name); return m }

// A tree over ids that are not sorted is not the tree.
func TestCompetenceOrder(t *testing.T) {
	a := competence(t, []wire.Value{receiptOf(t, 0), receiptOf(t, 1)}, 0, 1)
	// att_1 at index 0 and att_0 at index 1, under the root of that order.
	left, right := memberOf(a, "merkle_proofs"), memberOf(a, "merkle_proofs")
	one, _ := left.At("0", "proof", "0") // the leaf of att_1
	two, _ := right.At("1", "proof", "0")
	v := a.With("attestation_merkle_root", wire.Text(wire.HashOf(one.Text()+two.Text()).Hex()))
	for i, index := range []string{"1", "0"} {
		v = edit(t, v, index, "merkle_proofs", []string{"0", "1"}[i], "index")
	}
	if got := verdict(judgeCompetence(t)(signCompetence(t, v))); got != "competence-membership at /merkle_proofs" {
		t.Error(got)
	}
}

func TestCompetenceSignature(t *testing.T) {
	v := competence(t, receiptsOf(t, 2), 0)
	for _, forged := range []wire.Value{
		v.With("agent_signature", signature(t, v.Without("agent_signature").Without("concordia_competence_proof"), "buyer")),
		v.With("agent_signature", signature(t, v.Without("agent_signature"), holder)),
	} {
		if got := verdict(judgeCompetence(t)(forged)); got != "competence-signature at /agent_signature" {
			t.Error(got)
		}
	}
	if _, report := verifier(t, holder).VerifyCompetence(v); report.Outcome() != wire.NotChecked {
		t.Errorf("a counterparty without key: %v, %v", report.Outcome(), report.Err())
	}
}

// The claims are verified only by a full reveal of what everybody signed.
func TestAggregate(t *testing.T) {
	list := receiptsOf(t, 3)
	confirmed := append([]wire.Value{fulfilled(t, list[0], "buyer")}, list[1:]...)
	for _, test := range []struct {
		name string
		v    wire.Value
		want string // what breaks it
		fits bool   // as a proof whose claims are only asserted
	}{
		{"full", competence(t, list, 2, 0, 1), "", true},
		{"one", competence(t, list[:1], 0), "", true},
		{"partial", competence(t, list, 0, 1), "competence-aggregate at /revealed_attestations", true},
		{"nothing", competence(t, nil), "competence-aggregate at /attestation_count", true},
		{"nothing revealed", competence(t, list), "competence-aggregate at /revealed_attestations", true},
		{"a legacy receipt", competence(t, []wire.Value{list[0], legacyReceipt(t, 1)}, 0, 1), "competence-aggregate at /revealed_attestations/1", true},
		{"confirmed", competence(t, confirmed, 0, 1, 2), "", true},
		{"fulfilled by word", competence(t, []wire.Value{edit(t, confirmed[0], "", "fulfillment", "counterparty_attestation")}, 0),
			"competence-aggregate at /revealed_attestations/0/fulfillment", true},
		{"another's signature", competence(t, list, 0, 1, 2).With("agent_signature", wire.Text("x")), "competence-signature at /agent_signature", false},
		{"false claims", signCompetence(t, edit(t, competence(t, list, 0, 1, 2), `1`, "claims", "avg_concession_magnitude")),
			"history-summary at /claims/avg_concession_magnitude", false},
	} {
		if got := verdict(judgeCompetence(t, attest.AggregateVerified())(test.v)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		report := judgeCompetence(t)(test.v)
		if (report.Outcome() == wire.Passed) != test.fits || (outcomeOf(report, "aggregate") == wire.Passed) != (test.want == "") {
			t.Errorf("%s: %v, aggregate %v: %v", test.name, report.Outcome(), outcomeOf(report, "aggregate"), report.Err())
		}
	}
}

func TestCompetenceCredit(t *testing.T) {
	v := competence(t, receiptsOf(t, 4), 0, 2)
	p, report := everybody(t).VerifyCompetence(v)
	if report.Err() != nil || p.Credit.Bound != 2 || p.Credit.Agreements != 1 || p.Count != 4 || p.Revealed != 2 || !p.Value().Equal(v) {
		t.Errorf("%+v, %v", p, report.Err())
	}
}
