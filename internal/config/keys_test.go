package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func readNames(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

func TestEveryKeyOfTheContractIsInTheTable(t *testing.T) {
	for _, name := range readNames(t, "testdata/contract_keys.txt") {
		if _, ok := allKeys.byName[name]; !ok {
			t.Errorf("the contract names %s, the table does not", name)
		}
	}
}

func TestFlagsAreThoseOfTheContract(t *testing.T) {
	var flags []string
	for _, key := range Keys() {
		if key.Flag != "" {
			flags = append(flags, key.Flag)
		}
	}
	slices.Sort(flags)
	if diff := cmp.Diff(readNames(t, "testdata/contract_flags.txt"), flags); diff != "" {
		t.Errorf("flags (-contract +table):\n%s", diff)
	}
}

func TestTableIsSound(t *testing.T) {
	names, envs := map[string]bool{}, map[string]bool{}
	for _, key := range Keys() {
		if names[key.Name] || envs[key.Env()] {
			t.Errorf("%s is there twice", key.Name)
		}
		names[key.Name], envs[key.Env()] = true, true
		if key.Doc == "" {
			t.Errorf("%s has no doc line", key.Name)
		}
		if key.Flag != "" && key.Kind != Switch && key.Metavar == "" {
			t.Errorf("%s has a flag without a metavar", key.Name)
		}
		if isSecretName(key.Name) && !strings.HasSuffix(key.Name, "_env") {
			t.Errorf("%s would hold a secret; a config file is no place for one", key.Name)
		}
		if key.Ready() != (key.field(&Settings{}) != nil) {
			t.Errorf("%s must have a field or a reason why not", key.Name)
		}
		if number := key.Kind == Count || key.Kind == Amount || key.Kind == Length; number != (key.Max > 0) {
			t.Errorf("%s: a bound belongs to numbers and to nothing else", key.Name)
		}
	}
}

func TestFieldsFitTheirKinds(t *testing.T) {
	for _, key := range Keys() {
		if !key.Ready() {
			continue
		}
		var kind Kind
		switch key.field(&Settings{}).(type) {
		case *string:
			kind = Text
		case *[]string:
			kind = List
		case *int, *int64:
			kind = Count
		case *float64:
			kind = Amount
		case *ralph.Span:
			kind = Length
		case *bool:
			kind = Switch
		}
		if kind != key.Kind {
			t.Errorf("%s is a %s with a field for a %q", key.Name, key.Kind, kind)
		}
	}
}

func TestKeyNames(t *testing.T) {
	type names struct {
		Env, Group string
		Repeats    bool
	}
	got := map[string]names{}
	for _, name := range []string{"max_iterations", "checks.timeout", "checks.commands"} {
		key := allKeys.byName[name]
		got[name] = names{key.Env(), key.Group(), key.Repeats()}
	}
	want := map[string]names{
		"max_iterations":  {Env: "RALPH_MAX_ITERATIONS"},
		"checks.timeout":  {Env: "RALPH_CHECKS__TIMEOUT", Group: "checks"},
		"checks.commands": {Env: "RALPH_CHECKS__COMMANDS", Group: "checks", Repeats: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsAreTheLoopsOwn(t *testing.T) {
	loaded, err := Load(Input{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ralph.DefaultPolicy(), loaded.Settings.Policy()); diff != "" {
		t.Errorf("policy (-loop +config):\n%s", diff)
	}
}

func TestProfilesAreTheTablesChoices(t *testing.T) {
	var names []string
	for _, profile := range Profiles() {
		names = append(names, profile.Name)
		for key := range profile.Values {
			if !allKeys.byName[key].Ready() {
				t.Errorf("profile %s sets %q, which is no key of this version", profile.Name, key)
			}
		}
		if profile.Doc == "" {
			t.Errorf("profile %s has no doc line", profile.Name)
		}
	}
	if diff := cmp.Diff(allKeys.byName["profile"].Choices, names); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownProfilePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a profile that the table allows and nobody wrote must not go unnoticed")
		}
	}()
	profileNamed("nobody")
}

func TestNearest(t *testing.T) {
	names := []string{"max_iterations", "max_time", "checks.timeout", "run", "runs", "resume"}
	for written, want := range map[string]string{
		"max_iteration":                 "max_iterations",
		"max_itreations":                "max_iterations", // neighbours swapped
		"MAX_TIME":                      "max_time",
		"checks.timout":                 "checks.timeout",
		"rum":                           "run",
		"rn":                            "run",
		"zzz":                           "",
		"":                              "",
		"resmue":                        "resume",
		strings.Repeat("max_time", 5e4): "",
	} {
		if got := Nearest(written, names); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", written, got, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	for written, want := range map[string]string{
		"model":            "agent.model",
		"agent_cmd":        "agent.command",
		"check-timeout":    "checks.timeout",
		"check.timeout":    "checks.timeout",
		"timeout":          "checks.timeout",
		"agent.nmae":       "agent.name",
		"max-iterations":   "max_iterations",
		"max_iteratoins":   "max_iterations",
		"breakers":         "breaker",
		"gate.no_progress": "breaker.no_progress",
		"something_else":   "",
	} {
		if got := allKeys.suggest(written); got != want {
			t.Errorf("suggest(%q) = %q, want %q", written, got, want)
		}
	}
}
