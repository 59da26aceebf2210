package contract

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCommandLineIsCompared makes sure that the comparison with internal/cli is switched on as soon as there is something to compare.
func TestTheCommandLineIsCompared(t *testing.T) {
	test, err := os.ReadFile("cli_drift_test.go")
	if err != nil {
		t.Fatal(err)
	}
	off := strings.Contains(string(test), "//go:build")
	built := declares(t, filepath.Join(root, "internal", "cli"), "Commands", "RunFlags")
	if built && off {
		t.Error("internal/cli has Commands and RunFlags: take the build line out of cli_drift_test.go, and this test away")
	}
}

// declares reports whether a folder's Go files declare all of the named functions.
func declares(t *testing.T, folder string, names ...string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
	}
	for _, name := range names {
		if !found[name] {
			return false
		}
	}
	return true
}
