package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// specimens are all kinds, in the order of SPEC §12.3.
var specimens = []func() specimen{
	transcriptChain,
	transcriptChat,
	transcriptMoves,
	transcriptTime,
	transcriptBodies,
	transcriptOffers,
	transcriptMany,
	transcriptMediated,
	transcriptEvidence,
	receiptAgreed,
	receiptWithdrawn,
	receiptRejected,
	receiptDeclined,
	receiptDormant,
	receiptExpired,
	receiptReturned,
	receiptBroken,
	receiptOfMany,
	receiptMediated,
	receiptTooSoon,
	message,
	messageChain,
	jsonText,
	signedText,
	signedES256,
	attestation,
	wholeReceipt,
	relative,
	window,
	legacy("0.1.0"),
	legacy("0.2.0"),
	legacy("0.3.0"),
	legacy("0.4.9"),
	mediated,
	fulfilledReceipt,
	approval,
	revocation,
	cascade,
	traversal,
	fulfillment,
	receiptBundle,
	competence,
	fullCompetence,
	aggregate,
	cosign,
	envelope,
	mandate,
	delegatedMandate,
	sequenceMandate,
	stateMandate,
	ellipticMandate,
	constrained,
	predicate,
	ellipticPredicate,
	commitment,
	activationProof,
	unwind,
	closurePredicate,
	wholeClosure,
	bilateral,
	language,
	chainSession,
	chainTransition,
	agentProfile,
	reputationQuery,
	reputationResponse,
	signedRecord,
	a2aPart,
	es256,
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("vectorgen: ")
	dir := flag.String("dir", filepath.Join("conformance", "vectors"), "folder of the suite")
	check := flag.Bool("check", false, "write nothing; fail if the suite differs")
	killRun := flag.Bool("kill", false, "write nothing; switch each rule off in turn and fail if no vector sees it")
	flag.Parse()
	files, err := suite()
	if err != nil {
		log.Fatal(err)
	}
	switch {
	case *killRun:
		err = kill(".", files, os.Stdout)
	case *check:
		err = compare(*dir, files)
	default:
		err = write(*dir, files)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// suite returns the files of the suite by their path in its folder.
func suite() (map[string][]byte, error) {
	files := map[string][]byte{}
	listed := map[string][]string{conformance.Positive: {}, conformance.Mutation: {}, conformance.Canary: {}}
	var made []vector
	for i, make := range specimens {
		for _, v := range make().vectors() {
			v.specimen = i
			made = append(made, v)
		}
	}
	vectors := slices.Concat(canaries(), decided(), thin(made))
	for _, v := range vectors {
		name := path.Join(v.section, v.id+".json")
		if _, ok := files[name]; ok {
			return nil, fmt.Errorf("two vectors %s", v.id)
		}
		text, err := v.file()
		if err != nil {
			return nil, err
		}
		files[name] = text
		listed[v.section] = append(listed[v.section], "conformance/vectors/"+name)
	}
	counts := map[string]int{}
	for section := range listed {
		slices.Sort(listed[section])
		counts[section] = len(listed[section])
	}
	text, err := indent(wire.M{
		"schema_version": conformance.ManifestVersion, "suite_version": "1", "generated_by": "go run ./conformance/vectorgen",
		"check_command": "go run ./conformance/vectorgen -check", "counts": counts, "files": listed, "profiles": conformance.Profiles(),
	})
	files["manifest.json"] = text
	if err != nil {
		return nil, err
	}
	files["COVERAGE.md"], err = coverage(".", vectors)
	return files, err
}

// file returns a vector as it is written.
func (v vector) file() ([]byte, error) {
	m := wire.M{
		"schema_version": conformance.VectorVersion, "id": v.id, "title": v.title, "source_fixture": "vectorgen",
		"record_type": v.record, "verification_profile": v.profile, "input": json.RawMessage(v.input), "context": v.context,
		"expected": "accept", "expected_reason_class": nil, "why": v.why,
	}
	if v.rule != nil {
		m["expected"] = "reject"
		if v.reason != "" {
			m["expected_reason_class"] = v.reason
		}
		m["section"], m["rule"], m["breaks"] = v.rule.Section, v.rule.Name, v.breaks
	}
	if v.discriminates != "" {
		m["discriminates"] = v.discriminates
	}
	if strings.Count(v.input, "{") > 1000 { // a line for each level would be megabytes of white space
		text, err := json.Marshal(m)
		return append(text, '\n'), err
	}
	return indent(m)
}

// indent writes JSON with sorted members, a member a line.
func indent(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// write makes the folder hold exactly the files.
func write(dir string, files map[string][]byte) error {
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p, text, 0o644); err != nil {
			return err
		}
	}
	stale, err := stale(dir, files)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// stale returns the JSON files of the folder that the suite does not have.
func stale(dir string, files map[string][]byte) (list []string, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name == "schemas" {
			return fs.SkipDir // written by hand
		}
		if _, ok := files[name]; err == nil && !d.IsDir() && path.Ext(name) == ".json" && !ok {
			list = append(list, name)
		}
		return err
	})
	return list, err
}

// compare says how the folder differs from the files.
func compare(dir string, files map[string][]byte) error {
	differ, err := stale(dir, files)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(have, files[name]) {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("the suite is not what the generator makes: %d files differ, the first is %s", len(differ), differ[0])
	}
	return nil
}
