package tools

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// place is a workspace with all tools.
type place struct {
	*testing.T
	dir   string
	tools map[string]Tool
}

func newPlace(t *testing.T, files map[string]string) place {
	t.Helper()
	return placeIn(t, t.TempDir(), files, Options{})
}

// placeIn opens a workspace by the name that the test wants it to have.
func placeIn(t *testing.T, dir string, files map[string]string, o Options) place {
	t.Helper()
	p := place{T: t, dir: dir, tools: map[string]Tool{}}
	for name, content := range files {
		p.put(name, content)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	o.Root = root
	if o.Env == nil {
		o.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	}
	o.Grace = 100 * time.Millisecond
	for _, tool := range Set(o) {
		p.tools[tool.Spec().Name] = tool
	}
	return p
}

// call makes a call with an input that is written as JSON.
func (p place) call(tool string, input any) Output {
	p.Helper()
	raw, ok := input.(string)
	if !ok {
		text, err := json.Marshal(input)
		if err != nil {
			p.Fatal(err)
		}
		raw = string(text)
	}
	return p.tools[tool].Run(p.Context(), json.RawMessage(raw))
}

func (p place) put(name, content string) {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p place) get(name string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

func (p place) git(args ...string) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME="+p.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// done is a context that is over.
func done(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

type fields = map[string]any
