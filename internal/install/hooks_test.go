package install

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	"comment behind a comma": `{
  "hooks": {
    "Stop": [{"hooks": []}], // tail
    // below
  }, // outer
}
`,
	"comment in an empty list": "{\"hooks\": {\"Stop\": [ // none yet\n]}}",
	"comment on one line":      `{"x": [1, /* a */ 2 /* b */], "hooks": {"Stop": [ /* c */ ] /* d */ } /* e */ } // f`,
	"line comment before }":    "{\"x\": 1 // a \r\n}",
	"twice":                    `{"hooks": {"Stop": [{"hooks": []}]}, "hooks": {}}`,
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
			removed, changed, err := withoutHooks(updated, nil)
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

func TestCommentBehindACommaStaysWhereItIs(t *testing.T) {
	text := settings["comment behind a comma"]
	added, _, err := withHooks([]byte(text), "ralph")
	if err != nil || !strings.Contains(string(added), "}], // tail\n    \"SessionStart\": [\n") {
		t.Errorf("%v\n%s", err, added)
	}
	for name, style := range settings {
		if !strings.Contains(name, "comma") {
			continue
		}
		added, _, err := withHooks([]byte(style), "ralph")
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.Replace(string(added), "{", "{ /* new */", 1)
		removed, _, err := withoutHooks([]byte(edited), []byte(style))
		if diff := cmp.Diff(strings.Replace(style, "{", "{ /* new */", 1), string(removed)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// The user moved Ralph's hook into a group of their own: only the hook is removed.
func TestHookInTheUsersGroup(t *testing.T) {
	text := `{"hooks":{"Stop":[{"hooks":[{"command":"ralph hook stop"},{"command":"x"}]}]}}`
	want := `{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}`
	got, changed, err := withoutHooks([]byte(text), nil)
	if err != nil || !changed || string(got) != want {
		t.Errorf("changed %t, %v\n%s", changed, err, got)
	}
}

// Other people's hooks may look like Ralph's. An install and an uninstall leave them alone.
func TestHooksOfOthersStay(t *testing.T) {
	for _, command := range []string{
		"command -v lefthook >/dev/null || exit 0; lefthook hook stop",
		"command -v ralph >/dev/null || exit 0; lefthook hook stop",
		"command -v lefthook >/dev/null || exit 0; ralph hook stop",
		"/home/me/bin/log-it.sh before ralph hook stop",
		"ralph hook stop; say done",
		"ralph hook stop --timeout 10m && say done",
		"ralph-tui hook stop",
		"/opt/ralphs hook stop",
		"'/opt/ralph' 'x' hook stop",
		"'log it' /opt/ralph hook stop",
		"ralph hook stopped",
	} {
		quoted, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		text := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":` + string(quoted) + `}]}]}}`
		added, _, err := withHooks([]byte(text), "ralph")
		if err != nil || !strings.Contains(string(added), text[len(`{"hooks":{"Stop":[`):len(text)-len(`]}}`)]) {
			t.Errorf("%s: %v\n%s", command, err, added)
		}
		if rest, _, err := withoutHooks(added, nil); err != nil || !strings.Contains(string(rest), string(quoted)) {
			t.Errorf("%s: %v\n%s", command, err, rest)
		}
	}
}

func TestOwnHooksAreRecognized(t *testing.T) {
	for _, command := range []string{
		"ralph hook stop", "ralph hook pre-tool", "/opt/ralph hook session-start",
		`'C:\a b\ralph.exe' hook stop --timeout 90s`,
		"'ralph' hook stop", "command -v ralph >/dev/null || exit 0; ralph hook stop --timeout 1.5h",
	} {
		if !isOwnCommand(command) {
			t.Error(command)
		}
	}
	if _, _, err := withHooks(nil, "/opt/other"); err == nil || !strings.Contains(err.Error(), "rename it to ralph") {
		t.Errorf("a program that nobody recognizes: %v", err)
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

// The user moved Ralph's hooks and wrote comments into them: the comments stay.
func TestCommentsInRalphsHooksStay(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"hooks\": { // a\n    \"Stop\": [\n      {\"hooks\": [ /* b */ {\"command\": \"ralph hook stop\"}]} // c\n" +
			"    ]\n  }\n}\n": "{\n  \"hooks\": { // a\n    \"Stop\": [\n      /* b */ // c\n    ]\n  }\n}\n",
		"{\"hooks\": {\"Stop\": [1, // a\n{\"hooks\": [{\"command\": // b\n\"ralph hook stop\"}]}]}}": "" +
			"{\"hooks\": {\"Stop\": [1 // a\n// b\n]}}",
		"{\"hooks\": {\"Stop\": [\n  {\"hooks\": [{\"command\": // b\n\"ralph hook stop\"}]}, // c\n  2]}}": "" +
			"{\"hooks\": {\"Stop\": [\n  // b\n  // c\n  2]}}",
	} {
		got, changed, err := withoutHooks([]byte(text), nil)
		if diff := cmp.Diff(want, string(got)); diff != "" || !changed || err != nil {
			t.Errorf("changed %t, %v\n%s", changed, err, diff)
		}
	}
}

// squeezed returns a JSON text without the white space outside strings and comments.
func squeezed(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := 1
		if comment := commentLength([]byte(text)); comment > 0 {
			n = comment
		}
		for text[0] == '"' && text[n] != '"' {
			if text[n] == '\\' {
				n++
			}
			n++
		}
		if text[0] == '"' {
			n++
		}
		b.WriteString(strings.Trim(text[:n], " \t\r\n"))
		text = strings.TrimPrefix(text[n:], "\xef\xbb\xbf")
	}
	return b.String()
}

// An install, an edit of the user and an uninstall leave the text with that edit: every comment, every value and every
// comma is in its place.
func checkOnlyTheEditStays(t *testing.T, text string) {
	t.Helper()
	before, err := parseSettings([]byte(text))
	if err != nil || before.ownHooks() {
		return
	}
	text = string(before.text)
	edit := func(text []byte) string {
		d, err := parseDocument(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(d.splice(d.root.start+1, d.root.start+1, "/* edited */"))
	}
	added, changed, err := withHooks([]byte(text), "ralph")
	if err != nil || !changed {
		t.Fatalf("changed %t, %v\n%s", changed, err, text)
	}
	removed, changed, err := withoutHooks([]byte(edit(added)), []byte(text))
	if err != nil || !changed {
		t.Fatalf("changed %t, %v\n%s", changed, err, text)
	}
	if diff := cmp.Diff(squeezed(edit([]byte(text))), squeezed(string(removed))); diff != "" {
		t.Errorf("%s\nbefore:\n%s\ninstalled:\n%s\nafter:\n%s", diff, text, added, removed)
	}
	// Without a receipt, lists that are empty cannot be told from Ralph's.
	removed, _, err = withoutHooks(added, nil)
	after, alsoErr := parseSettings(removed)
	if err != nil || alsoErr != nil || !sameOthers(before, after) {
		t.Errorf("%v, %v\nbefore:\n%s\nafter:\n%s", err, alsoErr, text, removed)
	}
}

func (d document) ownHooks() bool {
	_, _, found := d.ownMember(document{})
	return found
}

func FuzzHooks(f *testing.F) {
	for _, text := range settings {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkOnlyTheEditStays(t, text) })
}

func TestRandomSettingsKeepTheirComments(t *testing.T) {
	for seed := range uint64(500) {
		if checkOnlyTheEditStays(t, randomSettings(rand.New(rand.NewPCG(seed, 0)))); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// randomSettings writes settings with hooks, in any style and with comments anywhere.
func randomSettings(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	gap := func() string {
		var b strings.Builder
		for range r.IntN(3) {
			b.WriteString(pick("", " ", "\n  ", "\r\n", "\t", " // \"a\", b \n", "/* } */", " // c\r\n    ", "/* d\n*/"))
		}
		return b.String()
	}
	list := func(open, end string, member func() string) string {
		var b strings.Builder
		b.WriteString(open + gap())
		n := r.IntN(4)
		for i := range n {
			b.WriteString(member() + gap())
			if i < n-1 || r.IntN(3) == 0 {
				b.WriteString("," + gap())
			}
		}
		return b.String() + end
	}
	group := func() string {
		return pick("1", `{"hooks": []}`, `{"hooks": [{"command": "say // \"x\""}]}`, "{ // e\n}")
	}
	event := func() string {
		name := pick("Stop", "PreToolUse", "SessionStart", "Notification")
		return fmt.Sprintf("%q%s:%s%s", name, gap(), gap(), list("[", "]", group))
	}
	setting := func() string {
		if r.IntN(2) == 0 {
			return fmt.Sprintf("%q%s:%s%s", pick("a", "b", `\"/*`), gap(), gap(), pick("1.50", `"//"`, "[1, 2,]", "null"))
		}
		return `"hooks"` + gap() + ":" + gap() + list("{", "}", event)
	}
	return gap() + list("{", "}", setting) + gap()
}
