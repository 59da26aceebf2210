package install

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// settings are texts that users have, in all kinds of styles.
var settings = map[string]string{
	"empty":           "",
	"blank":           " \n",
	"no members":      "{}",
	"no members, two": "{\n}\n",
	"one line":        `{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}`,
	"tabs":            "{\n\t\"model\": \"opus\"\n}\n",
	"four spaces":     "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": []\n    }\n}\n",
	"windows":         "{\r\n  \"model\": \"opus\"\r\n}\r\n",
	"byte order mark": "\xef\xbb\xbf{\n  \"model\": \"opus\"\n}\n",
	"comments":        "// mine\n{\n  /* a */ \"model\": \"opus\", // b\n  \"x\": 1 // last, \"hooks\"\n}\n// end\n",
	"only a comment":  "{\n  // nothing yet\n}\n",
	"trailing comma": `{
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": []},
    ],
  },
}
`,
	"others": `{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}
    ]
  },
  "z": 1.50e3
}`,
	"strings": `{
  "a": "} // no \" comment {",
  "hooks": {"Notification": [{"hooks": [{"command": "ralphs hook stop"}]}]}
}
`,
}

func TestHooksAreAddedAndRemoved(t *testing.T) {
	for name, text := range settings {
		t.Run(name, func(t *testing.T) {
			added, changed, err := withHooks([]byte(text), "ralph")
			if err != nil || !changed {
				t.Fatalf("changed %t, %v", changed, err)
			}
			if again, changed, err := withHooks(added, "ralph"); err != nil || changed || string(again) != string(added) {
				t.Errorf("a second time: changed %t, %v", changed, err)
			}
			breaks := strings.Count(string(added), "\r\n")
			if strings.Contains(text, "\r\n") && strings.Count(string(added), "\n") != breaks {
				t.Errorf("mixed line breaks: %q", added)
			}
			updated, changed, err := withHooks(added, "/opt/ralph")
			if err != nil || !changed || strings.Contains(string(updated), " ralph hook") {
				t.Errorf("another path: changed %t, %v\n%s", changed, err, updated)
			}
			removed, changed, err := withoutHooks(updated)
			if err != nil || !changed {
				t.Fatalf("changed %t, %v", changed, err)
			}
			if strings.Contains(string(removed), "/opt/ralph") {
				t.Errorf("still there:\n%s", removed)
			}
			before, _ := parseDocument([]byte(text))
			after, err := parseDocument(removed)
			if diff := cmp.Diff(others(before), others(after)); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// A text without comments must stay JSON for every reader.
func TestResultIsJSON(t *testing.T) {
	for _, name := range []string{"empty", "no members", "one line", "tabs", "windows", "others", "strings"} {
		added, _, err := withHooks([]byte(settings[name]), "ralph")
		if err != nil || !json.Valid(added) {
			t.Errorf("%s: %v\n%s", name, err, added)
		}
	}
}

func TestCommentsStayWhereTheyAre(t *testing.T) {
	added, _, err := withHooks([]byte(settings["comments"]), "ralph")
	want := "// mine\n{\n  /* a */ \"model\": \"opus\", // b\n  \"x\": 1, // last, \"hooks\"\n  \"hooks\": {\n"
	if err != nil || !strings.HasPrefix(string(added), want) || !strings.HasSuffix(string(added), "\n  }\n}\n// end\n") {
		t.Errorf("%v\n%s", err, added)
	}
}

// The user moved Ralph's hook into a group of their own: only the hook is removed.
func TestHookInTheUsersGroup(t *testing.T) {
	text := `{"hooks":{"Stop":[{"hooks":[{"command":"ralph hook stop"},{"command":"x"}]}]}}`
	want := `{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}`
	got, changed, err := withoutHooks([]byte(text))
	if err != nil || !changed || string(got) != want {
		t.Errorf("changed %t, %v\n%s", changed, err, got)
	}
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": 1\n  \"b\": 2\n}": `line 3: unexpected '"'`,
		"{\"a\": ":                     "line 1: the text ends too early",
		"{\"a\": x}":                   "line 1: unexpected 'x'",
		"{} {}":                        "line 1: unexpected '{'",
		"[]":                           errNotObject.Error(),
		`{"hooks": []}`:                errNotObject.Error(),
		`{"hooks": {"Stop": {}}}`:      errNotObject.Error(),
		strings.Repeat("[", 1000):      "line 1: unexpected '['",
	} {
		if _, _, err := withHooks([]byte(text), "ralph"); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// Whatever a settings file has: what Ralph adds can be removed, and nothing else changes.
func FuzzHooks(f *testing.F) {
	for _, text := range settings {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := parseSettings([]byte(text))
		if err != nil {
			return
		}
		added, _, err := withHooks([]byte(text), "ralph")
		if err != nil {
			t.Fatal(err)
		}
		removed, _, err := withoutHooks(added)
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseSettings(removed)
		if diff := cmp.Diff(others(before), others(after)); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
