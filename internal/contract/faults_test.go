package contract

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// TestFaultsPage compares the tables of docs/faults.md with faultSections. Write them with:
// go test ./internal/contract -run TestFaultsPage -update
func TestFaultsPage(t *testing.T) {
	comparePage(t, "faults.md", map[string]string{"faults": faultTables()})
}

func faultTables() string {
	var out strings.Builder
	for i, section := range faultSections {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "## %s\n\n", section.title)
		out.WriteString("| id | what happens | what Ralph does | exit | tests |\n| --- | --- | --- | --- | --- |\n")
		for _, f := range section.faults {
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", f.id, f.happens, f.answer, f.exit,
				strings.Join(text.Mapped(f.tests, code), ", "))
		}
	}
	return out.String()
}

// TestFaultTable checks that every fault has tests that exist, and exit codes that are in the contract and in
// one of its scripts, if it has any.
func TestFaultTable(t *testing.T) {
	sources, codes := testSources(t), map[string]bool{}
	for _, kind := range ralph.Outcomes() {
		codes[strconv.Itoa(kind.Code)] = true
	}
	for _, section := range faultSections {
		for i, f := range section.faults {
			t.Run(f.id, func(t *testing.T) {
				if want := section.title[:1] + strconv.Itoa(i+1); f.id != want || f.happens == "" || f.answer == "" {
					t.Errorf("%+v is incomplete, or should be %s", f, want)
				}
				if len(f.tests) == 0 {
					t.Error("it has no test")
				}
				scripts := ""
				for _, name := range f.tests {
					if sources[name] == "" {
						t.Errorf("there is no test %s", name)
					}
					if !strings.HasPrefix(name, "Test") {
						scripts += sources[name] + goldenOf(t, sources[name])
					}
				}
				for _, exit := range strings.FieldsFunc(f.exit, func(r rune) bool { return r == ',' || r == ' ' }) {
					if !codes[exit] {
						t.Errorf("the contract has no exit code %s", exit)
					}
					if scripts != "" && !endsWith(exit).MatchString(scripts) {
						t.Errorf("no script of it ends with %s", exit)
					}
				}
			})
		}
	}
}

// endsWith matches what scripts write about a program that exits with a code.
func endsWith(exit string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(`(?m)\bcode N |-> N\b|\^N[ $]|: N `, "N", exit))
}

// goldenOf is what a script expects as output, if that is in a file.
func goldenOf(t *testing.T, script string) string {
	t.Helper()
	named := regexp.MustCompile(`(?m)^golden \w+ (\S+)$`).FindStringSubmatch(script)
	if named == nil {
		return ""
	}
	return readFile(t, "internal/cli/testdata/golden/"+named[1])
}

// TestFaultScriptsAreInTheTable checks that a script which is named after a fault is one of its tests.
func TestFaultScriptsAreInTheTable(t *testing.T) {
	tests := map[string][]string{}
	for _, section := range faultSections {
		for _, f := range section.faults {
			number, err := strconv.Atoi(f.id[1:])
			if err != nil {
				t.Fatal(err)
			}
			tests[fmt.Sprintf("fault_%s%02d", strings.ToLower(f.id[:1]), number)] = f.tests
		}
	}
	scripts, err := filepath.Glob(filepath.Join(root, "internal", "cli", "testdata", "script", "fault_*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".txtar")
		if id := name[:min(len(name), len("fault_a01"))]; !slices.Contains(tests[id], name) {
			t.Errorf("%s is not a test of its fault", name)
		}
	}
}
