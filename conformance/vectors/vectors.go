// Package vectors holds the conformance suite of this project, made by
// conformance/vectorgen. See README.md beside it.
package vectors

import (
	"embed"
	"io/fs"
	"strings"
)

//go:generate sh -c "cd ../.. && go run ./conformance/vectorgen"

//go:embed manifest.json positive mutation canary
var files embed.FS

// Manifest is the path of the manifest in FS.
const Manifest = "conformance/vectors/manifest.json"

// FS returns the suite under the paths that its manifest gives.
func FS() fs.FS { return below{} }

// below has the files below conformance/vectors.
type below struct{}

// Open implements fs.FS.
func (below) Open(name string) (fs.File, error) {
	rest, ok := strings.CutPrefix(name, "conformance/vectors/")
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return files.Open(rest)
}
