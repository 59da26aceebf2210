package contract

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/text"
)

var update = flag.Bool("update", false, "write the generated tables of pages in docs")

// TestConfigurationPage compares the tables of docs/configuration.md with the program. Write them
// with: go test ./internal/contract -run TestConfigurationPage -update
func TestConfigurationPage(t *testing.T) {
	comparePage(t, "configuration.md", map[string]string{
		"profiles": profileTable(), "keys": keyTables(), "variables": variableTables(),
	})
}

// comparePage compares the generated sections of a page in docs with what the program says, or writes them
// with -update.
func comparePage(t *testing.T, name string, sections map[string]string) {
	t.Helper()
	page := readFile(t, "docs/"+name)
	want := page
	for section, text := range sections {
		want = withSection(t, want, section, text)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, "docs", name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("docs/%s is stale; rerun this test with -update (-program +page):\n%s", name, diff)
	}
}

// withSection replaces the text between the two comments that mark a generated section.
func withSection(t *testing.T, page, name, section string) string {
	t.Helper()
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("the page has no section %q", name)
	}
	return before + begin + section + end + after
}

// groupTitles are the headings of the groups.
var groupTitles = map[string]string{
	"": "Run", "agent": "Agent", "checks": "Checks", "gate": "Gates", "tasks": "Tasks", "breaker": "Breaker",
	"limits": "Limits", "notify": "Notifications", "prompt": "Prompt", "evaluator": "Evaluator",
	"sandbox": "Sandbox", "hooks": "Hooks of a run", "worker": "Built-in worker", "planner": "Planner",
	"tests": "Tests by another agent", "secrets": "Secrets",
}

// keyTables has one table per group, in the order of the program's table.
func keyTables() string {
	var order []string
	byGroup := map[string][]config.Key{}
	for _, key := range config.Keys() {
		if !key.Ready() {
			continue
		}
		group := key.Group()
		if byGroup[group] == nil {
			order = append(order, group)
		}
		byGroup[group] = append(byGroup[group], key)
	}
	var out strings.Builder
	for i, group := range order {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "### %s\n\n", groupTitles[group])
		out.WriteString("| key | type | default | environment variable | meaning |\n| --- | --- | --- | --- | --- |\n")
		for _, key := range byGroup[group] {
			row := []string{code(key.Name), typeName(key), defaultText(key), code(key.Env()), keyMeaning(key)}
			out.WriteString("| " + strings.Join(row, " | ") + " |\n")
		}
	}
	return out.String()
}

var typeNames = map[config.Kind]string{
	config.Text: "text", config.List: "list", config.Count: "integer", config.Amount: "number",
	config.Length: "duration", config.Switch: "true or false",
}

// typeName lists the allowed words instead of the type if there are only a few.
func typeName(key config.Key) string {
	const few = 4
	if n := len(key.Choices); n == 0 || n > few {
		return typeNames[key.Kind]
	}
	return strings.Join(text.Mapped(key.Choices, code), ", ")
}

func defaultText(key config.Key) string {
	if key.Default == "" {
		return ""
	}
	values := []string{key.Default}
	if key.Kind == config.List {
		values = strings.Split(key.Default, "\n")
	}
	list := strings.Join(text.Mapped(values, code), ", ")
	if key.Default == "0" && key.Zero != "" {
		list += " (" + key.Zero + ")"
	}
	return list
}

// keyMeaning is the key's documentation, with its flag, what 0 means, and whether it needs consent.
func keyMeaning(key config.Key) string {
	parts := []string{prose(key.Doc)}
	if key.Default != "0" && key.Zero != "" {
		parts = append(parts, "`0`: "+key.Zero)
	}
	if key.Flag != "" {
		flags := code("--" + key.Flag)
		if key.Short != "" {
			flags = code("-"+key.Short) + ", " + flags
		}
		parts = append(parts, flags)
	}
	if key.Command {
		parts = append(parts, "*consent*")
	}
	if len(key.Weak) > 0 {
		parts = append(parts, "*consent* for `"+strings.Join(key.Weak, "`, `")+"`")
	}
	return strings.Join(parts, ". ")
}

func profileTable() string {
	var out strings.Builder
	out.WriteString("| profile | meaning | sets |\n| --- | --- | --- |\n")
	for _, profile := range config.Profiles() {
		var sets []string
		for _, name := range slices.Sorted(maps.Keys(profile.Values)) {
			sets = append(sets, code(name+": "+profile.Values[name]))
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", code(profile.Name), prose(profile.Doc), strings.Join(sets, ", "))
	}
	return out.String()
}

func variableTables() string {
	var out strings.Builder
	for _, table := range []struct {
		heading   string
		variables []config.Variable
	}{{"read by Ralph", config.Variables()}, {"set for programs that a run starts", config.RunVariables()}} {
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "| %s | meaning |\n| --- | --- |\n", table.heading)
		for _, variable := range table.variables {
			fmt.Fprintf(&out, "| %s | %s |\n", code(variable.Name), prose(variable.Doc))
		}
	}
	return out.String()
}

// code and prose escape what Markdown would take for its own in a table.
func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }

func prose(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(s)
}
