//go:build unix

package project_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/project"
)

func TestDetectDoesNotWaitForPipes(t *testing.T) {
	dir := t.TempDir()
	write(t, 0o644, filepath.Join(dir, "Cargo.toml"), "")
	for _, name := range []string{
		"go.mod", "package.json", "pyproject.toml", "setup.cfg", "lib.rs", "x_test.go", "Makefile",
	} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const reason = "found Cargo.toml, but no test in it"
	want := project.Detection{Because: reason, PassedOver: []string{reason}}
	got, ok := project.Detect(dir)
	if diff := cmp.Diff(want, got); diff != "" || ok {
		t.Errorf("ok %v (-want +got)\n%s", ok, diff)
	}
}

func TestDetectCountsAFileThatIsTooLargeAsATest(t *testing.T) {
	dir := t.TempDir()
	write(t, 0o644, filepath.Join(dir, "go.mod"), "")
	write(t, 0o644, filepath.Join(dir, "x_test.go"), strings.Repeat("// nothing but comments\n", 1<<16))
	want := project.Detection{Commands: []string{"go test ./...", "go vet ./...", gofmtCheck}, Because: "found go.mod"}
	got, ok := project.Detect(dir)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("ok %v (-want +got)\n%s", ok, diff)
	}
}
