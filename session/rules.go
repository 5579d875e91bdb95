package session

import "github.com/concordia-node/concordia/wire"

// The rules of a session (SPEC §5), in the order in which a message meets them.
var (
	RuleParty      = &wire.Rule{Section: "2.3", Name: "party", Class: wire.ClassBinding, Text: "only the parties of a session, and a mediator all of them named, speak in it"}
	RuleSessionTTL = &wire.Rule{Section: "5.3", Name: "session-ttl", Class: wire.ClassTemporal, Text: "a session lives until its session_ttl has passed"}
	RuleTransition = &wire.Rule{Section: "5.2", Name: "transition", Class: wire.ClassTransition, Text: "a message is legal in the state of the session"}
	RuleRole       = &wire.Rule{Section: "5.2", Name: "role", Class: wire.ClassTransition, Text: "a message is sent by the role that may send it"}
	RuleBody       = &wire.Rule{Section: "4.2", Name: "body", Class: wire.ClassSchema, Text: "the body has the members of its message type"}
	RuleResponders = &wire.Rule{Section: "5.2", Name: "responders", Class: wire.ClassSchema, Text: "open names at most 15 different responders and 16 witnesses, none of them twice, the initiator not among them"}
	RuleTiming     = &wire.Rule{Section: "5.3", Name: "timing", Class: wire.ClassSchema, Text: "session_ttl, offer_ttl and max_rounds are whole and positive"}
	RuleExtensions = &wire.Rule{Section: "11.1", Name: "extensions", Class: wire.ClassTransition, Text: "accept_session repeats the extensions that open lists"}
	RuleRounds     = &wire.Rule{Section: "5.3", Name: "max-rounds", Class: wire.ClassTransition, Text: "a session has at most max_rounds offers and counters"}
	RuleOfferID    = &wire.Rule{Section: "6", Name: "offer-id", Class: wire.ClassBinding, Text: "no earlier offer of the session has this id"}
	RuleOfferTTL   = &wire.Rule{Section: "5.3", Name: "offer-ttl", Class: wire.ClassTemporal, Text: "an offer is made and accepted before offer_ttl and valid_until have passed"}
	RuleNoOffer    = &wire.Rule{Section: "4.2", Name: "no-offer", Class: wire.ClassTransition, Text: "there is an offer to accept"}
	RuleOwnOffer   = &wire.Rule{Section: "4.2", Name: "own-offer", Class: wire.ClassTransition, Text: "an offer is accepted by someone else"}
	RuleSuperseded = &wire.Rule{Section: "4.2", Name: "superseded", Class: wire.ClassBinding, Text: "an accept names the current offer"}
	RuleTwice      = &wire.Rule{Section: "4.2", Name: "accepted-twice", Class: wire.ClassTransition, Text: "a party accepts or commits once"}
	RuleOtherDeal  = &wire.Rule{Section: "6.5", Name: "other-deal", Class: wire.ClassBinding, Text: "all parties select the same branch of an offer"}
	RuleMediator   = &wire.Rule{Section: "8", Name: "mediator", Class: wire.ClassBinding, Text: "a mediator is none of the parties, and no witness"}
)

// The rules that tie a receipt to its transcript (SPEC §9.6.5, §9.6.5b).
var (
	RuleReceiptSession = &wire.Rule{Section: "9.6.5", Name: "receipt-session", Class: wire.ClassBinding, Text: "the receipt names the session of the transcript"}
	RuleReceiptParties = &wire.Rule{Section: "9.6.5", Name: "receipt-parties", Class: wire.ClassBinding, Text: "the receipt lists the parties of the transcript with their roles"}
	RuleReceiptOutcome = &wire.Rule{Section: "9.6.5", Name: "receipt-outcome", Class: wire.ClassBinding, Text: "status, rounds and terms_count are those of the transcript"}
	RuleReceiptConduct = &wire.Rule{Section: "9.6.5", Name: "receipt-conduct", Class: wire.ClassBinding, Text: "what each party did is what the transcript shows"}
	RuleReceiptChain   = &wire.Rule{Section: "9.6.5b", Name: "receipt-chain", Class: wire.ClassBinding, Text: "chain_head, message_count and transcript_hash are those of the transcript"}
	RuleReceiptTime    = &wire.Rule{Section: "9.6.5", Name: "receipt-time", Class: wire.ClassTemporal, Text: "the receipt was made after the session ended, and not in the future"}
)

// The rules of a transcript file (SPEC §9.3, §5.2).
var (
	RuleDocument = &wire.Rule{Section: "9.3", Name: "transcript-file", Class: wire.ClassSchema, Text: "a transcript is an object with messages, and perhaps evidence and a receipt, or an array of messages; it has at least one"}
	RuleEvidence = &wire.Rule{Section: "5.2", Name: "evidence", Class: wire.ClassTransition, Text: "evidence is a message that follows the transcript and breaks a rule of the session"}
)

// Rules lists the rules of this package.
func Rules() []*wire.Rule {
	return []*wire.Rule{
		RuleParty, RuleSessionTTL, RuleTransition, RuleRole, RuleBody, RuleResponders, RuleTiming, RuleExtensions,
		RuleRounds, RuleOfferID, RuleOfferTTL, RuleNoOffer, RuleOwnOffer, RuleSuperseded, RuleTwice, RuleOtherDeal,
		RuleMediator,
		RuleReceiptSession, RuleReceiptParties, RuleReceiptOutcome, RuleReceiptConduct, RuleReceiptChain, RuleReceiptTime,
		RuleDocument, RuleEvidence,
	}
}
