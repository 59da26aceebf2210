package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ralphloop/ralph/internal/cli"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/sandbox"
)

// exitsWith is `code N PROGRAM ARGS…`: it runs a program like exec and requires exactly that
// status.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var status *exec.ExitError
		if !errors.As(err, &status) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = status.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// jsonIs is `json EXPR WANT [FILE]`: the result of a jq expression on the last stdout, or on a
// file, is WANT. WANT is JSON, or else a plain string.
func jsonIs(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: json EXPR WANT [FILE]")
	}
	file := "stdout"
	if len(args) == 3 {
		file = onlyMatch(ts, args[2])
	}
	var input any
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &input); err != nil {
		ts.Fatalf("%s is no JSON: %v\n%s", file, err, ts.ReadFile(file))
	}
	query, err := gojq.Parse(args[0])
	ts.Check(err)
	got, _ := query.Run(input).Next()
	if err, ok := got.(error); ok {
		ts.Fatalf("%s: %v", args[0], err)
	}
	var want any
	if json.Unmarshal([]byte(args[1]), &want) != nil {
		want = args[1]
	}
	encoded, err := gojq.Marshal(got)
	ts.Check(err)
	got = nil
	ts.Check(json.Unmarshal(encoded, &got))
	if equal := cmp.Equal(want, got); equal == neg {
		ts.Fatalf("%s is %s, and %s was compared", args[0], encoded, args[1])
	}
}

// jsonSame is `samejson FILE FILE`: both hold the same value.
func jsonSame(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: samejson FILE FILE")
	}
	var values [2]any
	for i, file := range args {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &values[i]))
	}
	if diff := cmp.Diff(values[0], values[1]); diff != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], diff)
	}
}

// onlyMatch returns the one file that matches a pattern.
func onlyMatch(ts *testscript.TestScript, pattern string) string {
	files, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("%s fits %d files, want one: %q", pattern, len(files), files)
	}
	return files[0]
}

// fitsSchema is `schema NAME`: the last stdout, one value or one per line, matches the schema that
// `ralph schema NAME` prints.
func fitsSchema(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: schema NAME")
	}
	var printed bytes.Buffer
	if code := cli.Main(context.Background(), cli.Streams{
		Args: []string{"schema", args[0]}, Out: &printed, Err: &printed,
	}); code != 0 {
		ts.Fatalf("ralph schema %s: exit status %d: %s", args[0], code, &printed)
	}
	var schema jsonschema.Schema
	ts.Check(json.Unmarshal(printed.Bytes(), &schema))
	resolved, err := schema.Resolve(nil)
	ts.Check(err)
	values := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	seen := 0
	for ; values.More(); seen++ {
		var value any
		ts.Check(values.Decode(&value))
		if err := resolved.Validate(value); err != nil {
			ts.Fatalf("value %d does not fit: %v", seen+1, err)
		}
	}
	if seen == 0 {
		ts.Fatalf("there is no value on stdout")
	}
}

// matchesGolden is `golden stdout|stderr|FILE NAME`: the text equals testdata/golden/NAME, except
// for parts that differ from run to run.
func matchesGolden(ts *testscript.TestScript, folder string, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: golden FILE NAME")
	}
	got := normalize(ts.ReadFile(args[0]), ts.Getenv("WORK"))
	path := filepath.Join(folder, args[1])
	if *update {
		ts.Check(os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	ts.Check(err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		ts.Fatalf("%s (-want +got):\n%s", args[1], diff)
	}
}

var volatileParts = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`), "RUN"},
	{regexp.MustCompile(`\b\d+\.\ds\b`), "0.0s"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`\bpid(:| of ralph:)? \d+`), "pid 1"},
	{regexp.MustCompile(`ralph-demo-\d+`), "ralph-demo-1"},
	{regexp.MustCompile(`\b(SIZE|\d+\.\d KB) {2,}`), "SIZE  "}, // with the spaces that align it
	{regexp.MustCompile(`run in (an overlay; what they write in the workspace is discarded|` +
		`a copy of the workspace|the workspace itself).*`), "run in ISOLATION"},
	{regexp.MustCompile(`\b([a-z0-9-]+)-[0-9a-f]{10}\b`), "$1-HASH"},
}

// normalize replaces the parts of a text that differ from run to run.
func normalize(text, work string) string {
	text = strings.ReplaceAll(text, work, "$$WORK"[1:])
	for _, u := range volatileParts {
		text = u.pattern.ReplaceAllString(text, u.by)
	}
	return text
}

// eventually is `eventually FILE [REGEXP]`: the file appears soon, with matching text. FILE may be
// a pattern.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: eventually FILE [REGEXP]")
	}
	wanted := regexp.MustCompile("")
	if len(args) == 2 {
		wanted = regexp.MustCompile(args[1])
	}
	var last []byte
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && wanted.Match(text) {
				return
			}
			last = text
		}
	}
	ts.Fatalf("%s did not come to hold %s; at last: %s", args[0], wanted, last)
}

// makeRepo is `repo [DIR]`: the folder becomes a git repository with everything in it committed.
func makeRepo(ts *testscript.TestScript, _ bool, args []string) {
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	for _, line := range []string{"init -q -b main", "add -A", "commit -q --allow-empty -m base"} {
		ts.Check(ts.Exec("git", append([]string{"-C", ts.MkAbs(dir)}, strings.Fields(line)...)...))
	}
}

// makeProgram is `program NAME FILE`: the shell script in FILE becomes a program on PATH.
func makeProgram(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: program NAME FILE")
	}
	text := "#!/bin/sh\n" + ts.ReadFile(args[1])
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "bin", args[0]), []byte(text), 0o755))
}

// scriptTest is the key of a script's test among its values.
type scriptTest struct{}

// needsProgram is `needs NAME`: the script's programs find a program of this machine. `needs landlock` is about the
// kernel. What the machine lacks skips the script, or fails it in CI.
func needsProgram(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: needs NAME")
	}
	t, name := ts.Value(scriptTest{}).(testscript.T), args[0]
	if name == string(sandbox.Landlock) {
		if err := containment.Try(context.Background(), sandbox.Landlock, os.Environ()); err != nil {
			needs.Missing(t, err.Error())
		}
		return
	}
	ts.Check(os.Symlink(needs.Program(t, name), filepath.Join(ts.Getenv("WORK"), "bin", name)))
}

// useGo is `usego`: the script's programs find this machine's go, with its build cache and without a network.
func useGo(ts *testscript.TestScript, _ bool, _ []string) {
	path, err := exec.LookPath("go")
	ts.Check(err)
	cache, err := exec.Command(path, "env", "GOCACHE").Output()
	ts.Check(err)
	ts.Check(os.Symlink(path, filepath.Join(ts.Getenv("WORK"), "bin", "go")))
	ts.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	ts.Setenv("GOPROXY", "off")
	ts.Setenv("GOTOOLCHAIN", "local")
	ts.Setenv("GOTELEMETRY", "off")
}

// editLog is `editlog PATTERN OLD NEW`: it rewrites every line of the logs that match, with correct
// checksums, as another version or another day would have written them.
func editLog(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: editlog PATTERN OLD NEW")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("%s fits no file", args[0])
	}
	for _, file := range files {
		var edited strings.Builder
		for line := range strings.Lines(ts.ReadFile(file)) {
			body, _, ok := strings.Cut(line, `,"sum":"`)
			if !ok {
				ts.Fatalf("a line without a sum: %s", line)
			}
			body = strings.ReplaceAll(body, args[1], args[2])
			sum := crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli))
			fmt.Fprintf(&edited, "%s,\"sum\":\"%08x\"}\n", body, sum)
		}
		ts.Check(os.WriteFile(file, []byte(edited.String()), 0o600))
	}
}
