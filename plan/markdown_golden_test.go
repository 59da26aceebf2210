package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Every testdata/markdown/NAME.md is a list as people write it; NAME.md.json is what has to be read
// from it.
func TestMarkdownGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/markdown/*.md")
	if err != nil || len(names) < 3 {
		t.Fatalf("%d lists: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			base := filepath.Base(name)
			got := goldenOf(t, source{path: base, files: map[string][]byte{base: data}})
			if *update {
				if err := os.WriteFile(name+".json", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			diff(t, string(want), got)

			crlf := bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
			diff(
				t,
				string(want),
				goldenOf(t, source{path: base, files: map[string][]byte{base: append([]byte("\ufeff"), crlf...)}}),
				"with CRLF and a byte order mark",
			)
		})
	}
}

func goldenOf(t *testing.T, src source) string {
	t.Helper()
	type goldenTask struct {
		Line int    `json:"line"`
		Spec string `json:"spec,omitempty"`
		ralph.Task
	}
	golden := struct {
		Tasks    []goldenTask `json:"tasks"`
		Problems []string     `json:"problems"`
	}{Problems: []string{}}
	all, problems := markdown{}.parse(src)
	for _, it := range all {
		golden.Tasks = append(golden.Tasks, goldenTask{it.line, it.SpecFile, it.Task})
	}
	for _, p := range problems {
		golden.Problems = append(golden.Problems, p.String())
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(golden); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
