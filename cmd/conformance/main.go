// Command conformance runs suites of vectors against this implementation of the
// protocol or against any other. See conformance --help.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/conformance/vectors"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func main() {
	// A run lives for a fraction of a second and holds little: collect less often.
	debug.SetGCPercent(400)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "conformance",
		Short: "Judge an implementation of the protocol by a suite of vectors",
		Long: `conformance runs a suite of vectors: artifacts, each with the verdict that a
correct implementation gives. Without --exec it judges this implementation. The suite of
this project is inside the program; others are folders.

Exit codes: 0 every verdict as expected and the suite sound, 1 not, 2 wrong
usage, 3 it could not be run.`,
		Example: `  conformance run
  conformance run --exec './my-verifier'
  conformance run vectors/
  conformance explain mandate-expired`,
		Version: fmt.Sprintf("conformance %s (protocol %s)", cli.Version(), wire.ProtocolVersion),
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(runCommand(), listCommand(), explainCommand())
	return cli.Run(root, args, stdout, stderr, nil)
}

// openSuite opens the suite that an argument names: a manifest, a folder that holds
// one, or either of them below ./conformance. Without an argument it is the suite
// inside this program.
func openSuite(args []string) (*conformance.Suite, error) {
	if len(args) == 0 {
		return conformance.OpenSuite(vectors.FS(), vectors.Manifest)
	}
	tried := []string{args[0]}
	if !filepath.IsAbs(args[0]) {
		tried = append(tried, filepath.Join("conformance", args[0]))
	}
	for _, p := range tried {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		if info.IsDir() {
			p = filepath.Join(p, "manifest.json")
		}
		return openManifest(p)
	}
	return nil, cli.Usagef("there is no suite %s: name a folder with a manifest.json, or none for the suite inside this program", strings.Join(tried, ", nor "))
}

// openManifest opens a suite by its manifest. The paths in a published manifest
// begin at the folder that holds conformance/vectors.
func openManifest(name string) (*conformance.Suite, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("finding the suite: %w", err)
	}
	base, manifest := filepath.Dir(name), filepath.Base(name)
	if filepath.Base(base) == "vectors" && filepath.Base(filepath.Dir(base)) == "conformance" {
		base, manifest = filepath.Dir(filepath.Dir(base)), "conformance/vectors/"+manifest
	}
	root, err := os.OpenRoot(base) // no link of a suite leads out of it
	if err != nil {
		return nil, fmt.Errorf("opening the suite: %w", err)
	}
	return conformance.OpenSuite(root.FS(), manifest)
}
