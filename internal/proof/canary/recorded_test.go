package canary_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

var update = flag.Bool("update", false, "write what was read as what is wanted")

// TestRecorded reads recorded output of real runners, with canaries in place: unchanged, with
// colors and CRLF, and truncated.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { tryRecording(t, file) })
	}
}

func tryRecording(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var plants []canary.Plant
	var exit int
	var output, wanted []byte
	var reports [][]byte
	for _, part := range archive.Files {
		switch part.Name {
		case "plants.json":
			if err := json.Unmarshal(part.Data, &plants); err != nil {
				t.Fatal(err)
			}
		case "exit":
			if exit, err = strconv.Atoi(strings.TrimSpace(string(part.Data))); err != nil {
				t.Fatal(err)
			}
		case "output":
			output = part.Data
		case "report":
			reports = append(reports, part.Data)
		case "want.json":
			wanted = part.Data
		}
	}
	got := canary.Read(canary.Invocation{}, plants, exit, bytes.NewReader(output), reports)
	if *update {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		archive.Files = append(archive.Files[:len(archive.Files):len(archive.Files)], txtar.File{
			Name: "want.json", Data: append(text, '\n'),
		})
		if wanted != nil {
			archive.Files = append(archive.Files[:len(archive.Files)-2], archive.Files[len(archive.Files)-1])
		}
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var want canary.Outcome
	if err := json.Unmarshal(wanted, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as it was (-want +got):\n%s", diff)
	}
	coloured := strings.ReplaceAll(string(output), "\n", "\x1b[0m\r\n\x1b[31m")
	got = canary.Read(canary.Invocation{}, plants, exit, strings.NewReader(coloured), reports)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with colours (-want +got):\n%s", diff)
	}
	// Truncated output has fewer tests, and no others.
	got = canary.Read(canary.Invocation{}, plants, exit, bytes.NewReader(output[:len(output)/2]), nil)
	for name := range got.Tests {
		if _, known := want.Tests[name]; !known {
			t.Errorf("half of the output has the test %q, which the whole has not", name)
		}
	}
}
