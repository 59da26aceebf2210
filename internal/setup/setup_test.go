package setup

import (
	"bufio"
	stdcmp "cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/internal/workspace"
)

// odd are commands that YAML would misread if they were not quoted.
var odd = []string{
	`test -z "$(gofmt -l .)"`, "npm run format:check", "echo a: b # no comment", "- x", "true", "it's", "*glob", "{a}",
	"[b]", "&c", "!d", "%e", "@f", "`g`",
	"1", "0x1f", "~", "é ü", "a\tb", ".5", "null", "'quoted'", `"double"`, "a,b", "|", ">", "? x", "key:",
}

func loadText(t *testing.T, text string) config.Loaded {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Input{ProjectFile: path})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(loaded.Warnings) > 0 {
		t.Errorf("warnings: %q", loaded.Warnings)
	}
	return loaded
}

func sampleChoice() Choice {
	return Choice{
		Checks: []string{"go test ./...", `test -z "$(gofmt -l .)"`},
		Others: []project.Proposal{
			{Kind: project.KindLint, Command: "golangci-lint run", Because: "found .golangci.yml", Missing: "golangci-lint"},
		},
		Agent: "codex",
	}
}

func TestTheWrittenConfigurationSetsOnlyWhatWasChosen(t *testing.T) {
	defaults := loadText(t, "")
	for name, choice := range map[string]Choice{
		"nothing": {}, "something": sampleChoice(), "weaker proof": {Proof: "unbroken"},
		"only what was not chosen": {Others: sampleChoice().Others},
	} {
		want := defaults.Settings
		want.Checks.Commands, want.Agent.Name = choice.Checks, choice.Agent
		want.Gate.Proof = stdcmp.Or(choice.Proof, want.Gate.Proof)
		got := loadText(t, choice.configText())
		if diff := cmp.Diff(want, got.Settings); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestCommandsSurviveTheFile(t *testing.T) {
	for _, command := range odd {
		got := loadText(t, Choice{Checks: []string{command}}.configText()).Settings.Checks.Commands
		if diff := cmp.Diff([]string{command}, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", command, diff)
		}
	}
}

func TestNamesOfFilesSetNothing(t *testing.T) {
	want := loadText(t, Choice{}.configText()).Settings
	for _, lineEnd := range []string{"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\x00", "\x1b", "\ufeff", "\xff"} {
		proposal := project.Proposal{
			Kind: "lint", Command: "x",
			Because: "found a.yml" + lineEnd + "    - touch gone" + lineEnd + "max_iterations: 77" + lineEnd,
		}
		loaded := loadText(t, Choice{Others: []project.Proposal{proposal}}.configText())
		if diff := cmp.Diff(want, loaded.Settings); diff != "" || len(loaded.ProjectCommands) > 0 {
			t.Errorf("behind %q: %v (-want +got)\n%s", lineEnd, loaded.ProjectCommands, diff)
		}
	}
}

// uncommented removes the # from every line that is a setting, or from only one.
func uncommented(text string, alone int) (all string, lines int) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " ")
		rest, isComment := strings.CutPrefix(bare, "#")
		if isComment && !strings.HasPrefix(rest, " ") {
			if lines++; alone == 0 || alone == lines {
				line = line[:len(line)-len(bare)] + rest
			}
		}
		out.WriteString(line)
	}
	return out.String(), lines
}

func TestEveryCommentedKeyIsItsDefault(t *testing.T) {
	choice := sampleChoice()
	text := choice.configText()
	whole, lines := uncommented(text, 0)
	loaded := loadText(t, whole)
	want := loadText(t, text).Settings
	want.Checks.Commands = append(want.Checks.Commands, "golangci-lint run")
	if diff := cmp.Diff(want, loaded.Settings); diff != "" {
		t.Errorf("all at once (-want +got)\n%s", diff)
	}
	for i := range lines {
		one, _ := uncommented(text, i+1)
		loadText(t, one)
	}
	if lines < 30 {
		t.Errorf("only %d lines are settings", lines)
	}
}

func TestEveryKeyIsInTheFile(t *testing.T) {
	whole, _ := uncommented(Choice{}.configText(), 0)
	var want, got []string
	for _, key := range config.Keys() {
		if key.Ready() && key.Name != "trust" && key.Name != "yolo" && key.Name != "spec" {
			want = append(want, key.Name)
		}
	}
	group := ""
	for lines := bufio.NewScanner(strings.NewReader(whole)); lines.Scan(); {
		line := lines.Text()
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case line == "":
			group = ""
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			got = append(got, group+"."+name)
		case value == "":
			group = name
		default:
			got = append(got, name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-table +file)\n%s", diff)
	}
}

func TestLook(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have endings here")
	}
	bin := t.TempDir()
	for _, name := range []string{"codex", "claude"} {
		writeFile(t, filepath.Join(bin, name), "", 0o755)
	}
	t.Setenv("PATH", bin)
	ws := workspace.Workspace{Dir: t.TempDir()}
	want := Survey{Workspace: ws, Agents: []string{"claude", "codex"}, Proposals: []project.Proposal{}}
	if diff := cmp.Diff(want, Look(ws), cmpopts.IgnoreUnexported(workspace.Workspace{})); diff != "" {
		t.Errorf("an empty folder (-want +got)\n%s", diff)
	}
	for _, name := range []string{
		"prd.json", "IMPLEMENTATION_PLAN.md", "PROMPT.md", ".agent/PROMPT.md", ".ralph/config.yaml",
		".pre-commit-config.yaml",
	} {
		writeFile(t, filepath.Join(ws.Dir, name), "x", 0o644)
	}
	want.Configured, want.Tasks, want.Prompt = true, "prd.json", ".agent/PROMPT.md"
	want.Proposals = []project.Proposal{
		{
			Kind: project.KindLint, Command: "pre-commit run --all-files", Because: "found .pre-commit-config.yaml",
			Missing: "pre-commit",
		},
	}
	got := Look(ws)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(workspace.Workspace{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(Choice{Others: want.Proposals}, got.Everything()); diff != "" {
		t.Errorf("what could run (-want +got)\n%s", diff)
	}
}

func writeFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// A command may hold a line break. It must not become a line of the configuration, live or in a comment.
func TestCommandsStayOnTheirLine(t *testing.T) {
	evil := "cd 'x\n    - touch PWNED #' && ruff check ."
	for name, choice := range map[string]Choice{
		"chosen":     {Checks: []string{"go test ./...", evil}},
		"not chosen": {Checks: []string{"go test ./..."}, Others: []project.Proposal{{Command: evil, Missing: "ruff"}}},
	} {
		ws := workspace.Workspace{Dir: t.TempDir()}
		if _, err := choice.Write(ws); err != nil {
			t.Fatal(err)
		}
		env := config.NewEnv([]string{"HOME=" + t.TempDir()})
		loaded, err := config.Load(config.Input{ProjectFile: filepath.Join(ws.Dir, config.ProjectFile), Env: env})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(choice.Checks, loaded.Settings.Checks.Commands); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestWriteNeverOverwrites(t *testing.T) {
	ws := workspace.Workspace{Dir: t.TempDir()}
	names := []string{".ralph/config.yaml", ".ralph/config.schema.json", ".ralph/.gitignore", ".ralph/PROMPT.md"}
	first, err := sampleChoice().Write(ws)
	if diff := cmp.Diff(Result{Written: names}, first); diff != "" || err != nil || !first.Wrote() {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	before := readAll(t, ws, names)
	if err := os.Remove(filepath.Join(ws.Dir, names[1])); err != nil {
		t.Fatal(err)
	}
	second, err := Choice{}.Write(ws)
	if diff := cmp.Diff(Result{Written: names[1:2], Kept: []string{names[0], names[2], names[3]}},
		second); diff != "" || err != nil || second.Wrote() {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if diff := cmp.Diff(before, readAll(t, ws, names)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

func readAll(t *testing.T, ws workspace.Workspace, names []string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(ws.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// A repository may have a link in place of a file or of the folder. Nothing is written through
// either.
func TestWriteStaysInTheWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links want a right of their own here")
	}
	outside := t.TempDir()
	link := func(target, name string) {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	whole := workspace.Workspace{Dir: t.TempDir()}
	link(outside, filepath.Join(whole.Dir, ".ralph"))
	if done, err := sampleChoice().Write(whole); err == nil || done.Wrote() {
		t.Errorf("through a linked folder: %+v", done)
	}
	single := workspace.Workspace{Dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(single.Dir, ".ralph"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(outside, "config.yaml"), filepath.Join(single.Dir, ".ralph", "config.yaml"))
	done, err := sampleChoice().Write(single)
	if diff := cmp.Diff([]string{".ralph/config.yaml"}, done.Kept); diff != "" || err != nil {
		t.Errorf("a linked file: %v (-want +got)\n%s", err, diff)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestWriteWhereAFileStands(t *testing.T) {
	ws := workspace.Workspace{Dir: t.TempDir()}
	writeFile(t, filepath.Join(ws.Dir, ".ralph"), "mine", 0o644)
	done, err := sampleChoice().Write(ws)
	if _, ok := errors.AsType[*fs.PathError](err); !ok || len(done.Written) > 0 {
		t.Errorf("got %+v, %v", done, err)
	}
}
