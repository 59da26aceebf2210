package pristine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph/internal/process"
)

// BenchmarkOverlay opens a view of a workspace with many dependencies, runs one check in it, and
// closes it.
func BenchmarkOverlay(b *testing.B) {
	dir, folder := b.TempDir(), b.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, make([]byte, 1000), 0o600); err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		modules := filepath.Join(dir, "node_modules", fmt.Sprint(i))
		if err := os.MkdirAll(modules, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 30 {
			file := filepath.Join(modules, fmt.Sprint(j))
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				b.Fatal(err)
			}
			if err := os.Truncate(file, 100_000); err != nil {
				b.Fatal(err)
			}
		}
	}
	var edits []Edit
	for i := range 50 {
		edits = append(edits, Edit{Name: fmt.Sprintf("tests/%d/test", i), Source: source})
	}
	for b.Loop() {
		v, err := Open(b.Context(), Options{Dir: dir, Folder: folder, Mode: Overlay, Edits: edits})
		if err != nil {
			b.Skip("this system does not allow overlays here: " + err.Error())
		}
		s := process.Spec{Argv: process.Shell("test -e tests/49/test"), Dir: dir}
		v.Enter(&s)
		if r, err := process.Run(b.Context(), s); err != nil || r.ExitCode != 0 {
			b.Fatalf("%+v, %v", r, err)
		}
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
