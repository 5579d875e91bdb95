// Lazyverifier is a verifier that is caught: it accepts whatever looks signed. It
// shows how little a program needs to be judged by
//
//	conformance run vectors/ --exec lazyverifier
//
// and how a suite tells such a program from one that verifies. It reads a question
// a line and answers each with a line (SPEC §12.6).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
)

type question struct {
	Profile string          `json:"verification_profile"`
	Input   json.RawMessage `json:"input"`
	Context json.RawMessage `json:"context"`
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			log.Fatal(err)
		}
		verdict := "reject"
		if strings.Contains(string(q.Input), `signature":`) { // and this is all it looks at
			verdict = "accept"
		}
		fmt.Printf("{\"verdict\": %q}\n", verdict)
	}
}
