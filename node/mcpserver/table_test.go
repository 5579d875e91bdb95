package mcpserver_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// RFC 0003 has every tool of the reference, and says of each whether it is here; and every
// tool that is here.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "rfcs", "0003-mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	here, _, _ := mcpserver.Tools()
	row := regexp.MustCompile("(?m)^\\| `((?:concordia|agent)_[a-z_]+)` \\| ([^|]+) \\|")
	_, rest, _ := strings.Cut(string(text), "### The reference's tools")
	reference, ours, ok := strings.Cut(rest, "### Tools that the reference does not have")
	if !ok {
		t.Fatal("the tables are not there")
	}
	var listed []string
	for _, m := range row.FindAllStringSubmatch(reference, -1) {
		name, absent := m[1], m[2] == "not yet"
		if slices.Contains(listed, name) {
			t.Errorf("%s is listed twice", name)
		}
		listed = append(listed, name)
		if slices.Contains(here, name) == absent {
			t.Errorf("%s: the table says %q, and it is here: %v", name, m[2], !absent)
		}
	}
	if len(listed) != 59 {
		t.Errorf("%d tools of the reference are listed, want 59", len(listed))
	}
	for _, m := range row.FindAllStringSubmatch(ours, -1) {
		if slices.Contains(listed, m[1]) {
			t.Errorf("%s is listed twice", m[1])
		}
		listed = append(listed, m[1])
		if !slices.Contains(here, m[1]) {
			t.Errorf("%s is not here", m[1])
		}
	}
	for _, name := range here {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not listed", name)
		}
	}
}

// referenceArguments are the arguments that the reference's tools take.
var referenceArguments = map[string]string{
	"concordia_open_session":               "initiator_id responder_id terms session_ttl offer_ttl max_rounds reasoning metadata",
	"concordia_propose":                    "session_id role terms auth_token offer_type open_terms conditions reasoning",
	"concordia_counter":                    "session_id role terms auth_token offer_type open_terms conditions reasoning",
	"concordia_accept":                     "session_id role auth_token offer_id reasoning",
	"concordia_reject":                     "session_id role auth_token reason reasoning",
	"concordia_commit":                     "session_id role auth_token reasoning",
	"concordia_session_status":             "session_id auth_token include_transcript transcript_limit",
	"concordia_session_public_view":        "session_id",
	"concordia_session_receipt":            "session_id auth_token category value_range",
	"concordia_session_receipt_envelope":   "session_id auth_token provider_did provider_kid subject_did algorithm visibility additional_references",
	"concordia_competence_proof":           "agent_id auth_token reveal_count",
	"concordia_verify_competence_proof":    "proof max_age_hours",
	"concordia_ingest_attestation":         "agent_id auth_token attestation",
	"concordia_reputation_query":           "subject_agent_id requester_agent_id category value_range role",
	"concordia_reputation_score":           "agent_id category value_range role",
	"concordia_register_agent":             "agent_id roles categories resolution_mechanisms endpoint description auth_token",
	"concordia_search_agents":              "category role resolution_mechanism limit",
	"concordia_agent_card":                 "agent_id",
	"concordia_preferred_badge":            "agent_id",
	"concordia_deregister_agent":           "agent_id auth_token",
	"concordia_propose_protocol":           "agent_id auth_token peer_id",
	"concordia_respond_to_proposal":        "proposal_id accepted responder_agent_id auth_token reason",
	"concordia_start_degraded":             "agent_id auth_token peer_id peer_status proposal_id",
	"concordia_degraded_message":           "interaction_id from_agent auth_token content",
	"concordia_efficiency_report":          "interaction_id",
	"concordia_post_want":                  "agent_id auth_token category terms location ttl notify metadata",
	"concordia_post_have":                  "agent_id auth_token category terms location ttl metadata",
	"concordia_get_want":                   "want_id",
	"concordia_get_have":                   "have_id",
	"concordia_withdraw_want":              "want_id agent_id auth_token",
	"concordia_withdraw_have":              "have_id agent_id auth_token",
	"concordia_find_matches":               "want_id have_id agent_id limit",
	"concordia_search_wants":               "category limit",
	"concordia_search_haves":               "category limit",
	"concordia_want_registry_stats":        "",
	"concordia_relay_create":               "initiator_id auth_token responder_id concordia_session_id session_ttl auto_attest initiator_endpoint",
	"concordia_relay_join":                 "relay_session_id agent_id auth_token endpoint",
	"concordia_relay_send":                 "relay_session_id from_agent auth_token message_type payload ttl",
	"concordia_relay_receive":              "agent_id auth_token relay_session_id limit",
	"concordia_relay_status":               "relay_session_id agent_id auth_token",
	"concordia_relay_conclude":             "relay_session_id agent_id auth_token reason",
	"concordia_relay_transcript":           "relay_session_id agent_id auth_token limit",
	"concordia_relay_archive":              "relay_session_id agent_id auth_token retention_days",
	"concordia_relay_list_archives":        "agent_id auth_token limit",
	"concordia_relay_stats":                "",
	"concordia_sanctuary_bridge_configure": "agent_id auth_token enabled identity_mappings default_context commitment_on_agree reputation_on_receipt",
	"concordia_sanctuary_bridge_commit":    "session_id auth_token",
	"concordia_sanctuary_bridge_attest":    "agent_id auth_token attestation",
	"concordia_sanctuary_bridge_status":    "",
	"concordia_create_receipt_bundle":      "agent_id auth_token filter_category filter_counterparty filter_after filter_before",
	"concordia_verify_receipt_bundle":      "bundle max_age_hours",
	"concordia_list_receipt_bundles":       "agent_id auth_token",
	"concordia_reputation_report":          "session_id agent_id auth_token provider_endpoint provider_did fulfillment_status",
	"concordia_verify_mandate":             "mandate issuer_public_key_b64 algorithm sequence_key state_active action delegation_keys check_revocation session_ref offer_hash receipt_ref mandate_ref",
	"concordia_verify_approval_receipt":    "receipt offer issuer_public_key_b64",
	"agent_profile_publish":                "agent_id name description categories offer_types resolution_methods max_concurrent_sessions negotiation_style avg_rounds_to_agreement agreement_rate avg_session_duration_seconds verascore_composite verascore_tier verascore_did concordia_sessions_completed attestation_count concordia_preferred sovereignty_L1 sovereignty_L2 sovereignty_L3 sovereignty_L4 negotiate_endpoint a2a_card_endpoint mcp_manifest_endpoint regions jurisdictions ttl signature",
	"agent_profile_get":                    "agent_id",
	"agent_discovery_search":               "categories min_reputation_composite min_sovereignty_tier offer_types_required jurisdictions concordia_preferred sort_by limit",
	"agent_discovery_recommend":            "want_id",
}

// Each argument that the reference takes is one here, and none is needed that it does not
// take.
func TestReferenceArguments(t *testing.T) {
	if len(referenceArguments) != 59 {
		t.Errorf("%d tools, want 59", len(referenceArguments))
	}
	_, inputs, _ := mcpserver.Tools()
	for tool, names := range referenceArguments {
		takes, _ := inputs[tool]["properties"].(wire.M)
		for _, name := range strings.Fields(names) {
			if _, ok := takes[name]; !ok {
				t.Errorf("%s does not take %s", tool, name)
			}
		}
		for _, name := range inputs[tool]["required"].([]string) {
			if !slices.Contains(strings.Fields(names), name) {
				t.Errorf("%s needs %s", tool, name)
			}
		}
	}
}

// What means nothing here is taken, and the result says that it was ignored; null is as if
// it was left out, and a larger number than can be shown means as much as can.
func TestReferenceCalls(t *testing.T) {
	w := newWorld(t)
	c, buyer := w.agent("seller", mcpserver.Options{}, nil), string(agent("buyer"))
	v := c.call("concordia_open_session", `{"responder_id":"`+buyer+`","terms":`+camera+`,"session_id":"ses_1","reasoning":null,"initiator_id":null,"metadata":{"a":1}}`)
	if at(v, "ignored") != `["metadata"]` || at(v, "max_rounds") != "20" {
		t.Errorf("opened: %s", v)
	}
	if v = c.call("concordia_session_status", `{"session_id":"ses_1","auth_token":"x","include_transcript":true,"transcript_limit":1000}`); at(v, "ignored") != "" {
		t.Errorf("status: %s", v)
	}
	if v = c.call("concordia_list_sessions", `{"limit":100000000}`); at(v, "count") != "1" {
		t.Errorf("sessions: %s", v)
	}
	if v = c.refused("concordia_list_sessions", `{"limit":0}`); at(v, "pointer") != "/limit" {
		t.Errorf("a limit of none: %s", v)
	}
	if v = c.call("concordia_relay_create", `{"auto_attest":true,"initiator_endpoint":null,"responder_id":null}`); at(v, "ignored") != `["auto_attest"]` {
		t.Errorf("mail: %s", v)
	}
	if v = c.refused("concordia_open_session", `{"responder_id":null,"terms":{}}`); at(v, "pointer") != "/responder_id" {
		t.Errorf("nobody invited: %s", v)
	}
	if v = c.refused("concordia_agreement", `{"session_id":"ses_1","kind":null}`); at(v, "error") != "concordia_agreement has no such argument: it takes session_id, format" {
		t.Errorf("an argument that there is not: %s", v)
	}
	// Nobody has joined, and the role is not known yet.
	if v = c.refused("concordia_propose", `{"session_id":"ses_1","role":"seller"`+priced+`}`); at(v, "code") != "rule" || !strings.Contains(at(v, "next"), "concordia_wait") {
		t.Errorf("an offer that is too early: %s", v)
	}
}

// referenceResults are the members of what the reference's tools return.
var referenceResults = map[string]string{
	"concordia_open_session":               "session_id state initiator responder initiator_token responder_token terms timing transcript_length message",
	"concordia_propose":                    "session_id message_id type from offer_id state round_count transcript_length message",
	"concordia_counter":                    "session_id message_id type from offer_id state round_count transcript_length message",
	"concordia_accept":                     "session_id message_id type from state round_count transcript_length transcript_valid message",
	"concordia_reject":                     "session_id message_id type from state round_count transcript_length message",
	"concordia_commit":                     "session_id message_id type from state round_count transcript_length transcript_valid message",
	"concordia_session_status":             "session_id state initiator responder round_count terms timing transcript_length transcript_valid behaviors created_at is_terminal duration_seconds concluded_at transcript metadata _content_trust",
	"concordia_session_public_view":        "session_id state parties is_public message_count transcript_hash_chain created_at is_terminal concluded_at",
	"concordia_session_receipt":            "session_id receipt transcript_valid message",
	"concordia_session_receipt_envelope":   "envelope",
	"concordia_competence_proof":           "proof_id agent_id created_at proof summary message",
	"concordia_verify_competence_proof":    "valid proof_id agent_id errors warnings merkle_proofs_valid aggregate_verified claims_asserted_not_verified unverified_parties prover_nonmember_attestations summary message",
	"concordia_ingest_attestation":         "accepted attestation_id session_id errors warnings store_count message",
	"concordia_reputation_query":           "response",
	"concordia_reputation_score":           "agent_id score message",
	"concordia_create_receipt_bundle":      "bundle message",
	"concordia_verify_receipt_bundle":      "valid errors warnings summary_accurate sybil_flags verified_counterparties unverified_counterparties claimed_counterparties freshness attestation_count agent_id",
	"concordia_list_receipt_bundles":       "agent_id bundle_count bundles",
	"concordia_reputation_report":          "reported session_id agent_did provider outcome negotiation_competence provider_profile provider_response message",
	"concordia_register_agent":             "registered agent auth_token concordia_preferred registry_count message",
	"concordia_search_agents":              "count agents filters _content_trust",
	"concordia_agent_card":                 "found agent_card concordia_preferred",
	"concordia_preferred_badge":            "found badge",
	"concordia_deregister_agent":           "removed agent_id registry_count message",
	"agent_profile_publish":                "success profile store_count message",
	"agent_profile_get":                    "found profile",
	"agent_discovery_search":               "count results filters",
	"agent_discovery_recommend":            "want_id want_category count recommendations",
	"concordia_post_want":                  "want immediate_matches match_count message",
	"concordia_post_have":                  "have immediate_matches match_count message",
	"concordia_get_want":                   "found want want_id _content_trust",
	"concordia_get_have":                   "found have have_id _content_trust",
	"concordia_withdraw_want":              "withdrawn want_id message",
	"concordia_withdraw_have":              "withdrawn have_id message",
	"concordia_find_matches":               "matches count",
	"concordia_search_wants":               "wants count",
	"concordia_search_haves":               "haves count",
	"concordia_want_registry_stats":        "active_wants active_haves total_matches unique_agents",
	"concordia_relay_create":               "session message",
	"concordia_relay_join":                 "joined session message",
	"concordia_relay_send":                 "sent message",
	"concordia_relay_receive":              "messages count payloads _content_trust",
	"concordia_relay_status":               "session",
	"concordia_relay_conclude":             "concluded session message",
	"concordia_relay_transcript":           "relay_session_id messages count",
	"concordia_relay_archive":              "archived archive message",
	"concordia_relay_list_archives":        "archives count",
	"concordia_relay_stats":                "total_sessions sessions_by_state total_messages_relayed pending_deliveries total_archives",
	"concordia_propose_protocol":           "proposal message",
	"concordia_respond_to_proposal":        "response resulting_mode message",
	"concordia_start_degraded":             "interaction message",
	"concordia_degraded_message":           "message_recorded total_rounds mode",
	"concordia_efficiency_report":          "interaction_id mode actual_rounds estimated_concordia_rounds rounds_saved recommendation",
	"concordia_sanctuary_bridge_configure": "enabled identity_count default_context commitment_on_agree reputation_on_receipt message",
	"concordia_sanctuary_bridge_commit":    "session_id sanctuary_enabled commitment_payload reputation_payloads reputation_payload_count skipped_reason",
	"concordia_sanctuary_bridge_attest":    "session_id sanctuary_enabled commitment_payload reputation_payloads reputation_payload_count skipped_reason",
	"concordia_sanctuary_bridge_status":    "enabled identity_count default_context commitment_on_agree reputation_on_receipt identity_mappings",
	"concordia_verify_mandate":             "valid mandate_id issuer subject checks errors warnings failure_reason revoked_at tier",
	"concordia_verify_approval_receipt":    "valid decision failure_reason receipt_id approver references checks errors",
}

// Each member of a result of the reference is there, or its row names it, or the row that
// it refers to, or what stands before the rows.
func TestReferenceResults(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "rfcs", "0003-mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "### The reference's tools")
	before, _, _ := strings.Cut(rest, "| tool |")
	row := func(tool string) string {
		_, behind, ok := strings.Cut(rest, "\n| `"+tool+"` | ")
		if !ok {
			t.Fatalf("there is no row of %s", tool)
		}
		own, _, _ := strings.Cut(behind, "\n")
		return own
	}
	_, _, outputs := mcpserver.Tools()
	for tool, names := range referenceResults {
		says := before + row(tool)
		if _, other, ok := strings.Cut(says, "as `concordia_"); ok {
			name, _, _ := strings.Cut(other, "`")
			says += row("concordia_" + name)
		}
		for _, name := range strings.Fields(names) {
			if _, ok := outputs[tool]["properties"].(wire.M)[name]; !ok && !strings.Contains(says, "`"+name+"`") {
				t.Errorf("%s has no %s, and the table does not say why", tool, name)
			}
		}
	}
}
