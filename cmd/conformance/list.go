package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func listCommand() *cobra.Command {
	var profiles, asJSON bool
	cmd := &cobra.Command{
		Use:   "list [DIR|MANIFEST]",
		Short: "List the vectors of a suite, or the profiles",
		Example: `  conformance list vectors/
  conformance list --profiles`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || profiles && len(args) > 0 {
				return cli.Usagef("list takes one suite, or --profiles and none")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if profiles {
				return listProfiles(cmd, asJSON)
			}
			suite, err := openSuite(args)
			if err != nil {
				return err
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			for _, entry := range suite.Entries {
				v, err := suite.Read(entry)
				if err != nil {
					return fmt.Errorf("reading %s: %w", entry.Path, err)
				}
				if asJSON {
					err = e.Encode(map[string]any{
						"id": v.ID, "section": entry.Section, "verification_profile": v.Question.Profile,
						"expected": v.Expected, "expected_reason_class": v.ExpectedReason, "title": v.Title,
					})
				} else {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s  %s\n", v.ID, v.Question.Profile, v.Expected, cli.Printable(v.Title))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&profiles, "profiles", false, "list the profiles and their checks")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one value a line")
	return cmd
}

func listProfiles(cmd *cobra.Command, asJSON bool) error {
	e := json.NewEncoder(cmd.OutOrStdout())
	for _, name := range conformance.Profiles() {
		var err error
		if asJSON {
			err = e.Encode(map[string]any{"profile": name, "checks": conformance.Steps(name)})
		} else {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, strings.Join(conformance.Steps(name), ", "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func explainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "explain ID [DIR|MANIFEST]",
		Short:   "Show one vector: what it asks, and each check with its outcome",
		Example: `  conformance explain pos-synthetic-mandate vectors/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return cli.Usagef("explain takes the id of a vector and perhaps a suite")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			suite, err := openSuite(args[1:])
			if err != nil {
				return err
			}
			v, err := suite.Find(args[0])
			if err != nil {
				return err
			}
			return explain(cmd, v, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// explain prints a vector and how this implementation comes to its verdict.
func explain(cmd *cobra.Command, v *conformance.Vector, asJSON bool) error {
	report := v.Question.Answer()
	got := conformance.Verdict(report)
	type step struct {
		Check   string `json:"check"`
		Outcome string `json:"outcome"`
		Why     string `json:"why,omitempty"`
	}
	steps := make([]step, len(report))
	for i, f := range report {
		steps[i] = step{Check: f.Check, Outcome: f.Outcome.String()}
		if f.Err != nil {
			steps[i].Why = f.Err.Error()
		}
	}
	for _, name := range conformance.Steps(v.Question.Profile)[min(len(report), len(conformance.Steps(v.Question.Profile))):] {
		steps = append(steps, step{Check: name, Outcome: "not reached"})
	}
	w := cmd.OutOrStdout()
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{
			"id": v.ID, "title": v.Title, "notes": v.Notes, "record_type": v.RecordType, "verification_profile": v.Question.Profile,
			"expected": v.Expected, "expected_reason_class": v.ExpectedReason, "got": got, "reason_class": conformance.Reason(report), "checks": steps,
		})
	}
	fmt.Fprintf(w, "%s: %s\n", v.ID, cli.Printable(v.Title))
	if v.Notes != "" {
		fmt.Fprintf(w, "%s\n", cli.Printable(v.Notes))
	}
	fmt.Fprintf(w, "%s, judged by %s\n", v.RecordType, v.Question.Profile)
	for _, s := range steps {
		fmt.Fprintf(w, "  %-12s %s", s.Outcome, s.Check)
		if s.Why != "" {
			fmt.Fprintf(w, ": %s", cli.Printable(s.Why))
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "expected %s, got %s\n", verdictWord(v.Expected, v.ExpectedReason), verdictWord(got, conformance.Reason(report)))
	return err
}

func verdictWord(verdict string, reason wire.Class) string {
	if reason == "" {
		return verdict
	}
	return fmt.Sprintf("%s (%s)", verdict, reason)
}
