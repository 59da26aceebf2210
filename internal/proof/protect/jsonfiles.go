package protect

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// runnerKeys are keys of a package.json that only test tools read.
var runnerKeys = []string{
	"jest", "mocha", "ava", "vitest", "babel", "nyc", "c8", "tap", "jasmine", "karma", "cypress", "playwright",
}

// directRunners start tests without scripts of a package.json.
var directRunners = []string{
	"node", "npx", "deno", "go", "cargo", "pytest", "python", "python3", "ruby", "rspec", "jest", "vitest",
	"mocha", "tsc", "cd", "true", "test", "[", "echo",
}

// packageDiffers compares what affects tests in two package.json files. Changes to dependencies and
// other scripts are allowed.
func packageDiffers(in *inspection, base, now []byte) bool {
	return objectsDiffer(base, now, func(was, is map[string]any) bool {
		return keysDiffer(was, is, runnerKeys...) || importsDiffer(was, is) ||
			!reflect.DeepEqual(
				foreignRunners(was), foreignRunners(is),
			) || in.runsScripts() && in.scriptsDiffer(was["scripts"], is["scripts"])
	})
}

// objectsDiffer compares two JSON files. One that cannot be parsed differs.
func objectsDiffer(base, now []byte, differ func(was, is map[string]any) bool) bool {
	was, errBase := readObject(base)
	is, errNow := readObject(now)
	return errBase != nil || errNow != nil || differ(was, is)
}

func keysDiffer(was, is map[string]any, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return !reflect.DeepEqual(was[key], is[key]) })
}

// packageSteers reports whether a new package.json configures a test runner.
func packageSteers(_ *inspection, _ string, data []byte) bool {
	object, err := readObject(data)
	return err != nil || slices.ContainsFunc(runnerKeys, func(key string) bool { return object[key] != nil })
}

// readObject parses JSON. Empty input, for a missing file, is an empty object.
func readObject(data []byte) (map[string]any, error) {
	if len(data) == 0 {
		return map[string]any{}, nil
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &object); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	return object, nil
}

func stringsOf(value any) map[string]string {
	object, _ := value.(map[string]any)
	texts := map[string]string{}
	for key, v := range object {
		// A list, as in composer.json, or any other value is compared by its JSON text.
		if text, is := v.(string); is {
			texts[key] = text
		} else if written, err := json.Marshal(v); err == nil {
			texts[key] = string(written)
		}
	}
	return texts
}

// importsDiffer compares the private names (#x) that tests of the base may import. New ones are
// unused by them.
func importsDiffer(was, is map[string]any) bool {
	before, _ := was["imports"].(map[string]any)
	after, _ := is["imports"].(map[string]any)
	return keysDiffer(before, after, slices.Collect(maps.Keys(before))...)
}

// foreignRunners returns test tools that come from anywhere but the registry, under their own name.
func foreignRunners(object map[string]any) map[string]string {
	found := map[string]string{}
	for _, key := range []string{"dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions"} {
		for name, version := range stringsOf(object[key]) {
			if isRunner(name) && strings.ContainsAny(version, ":/{") {
				found[key+" "+name] = version
			}
		}
	}
	return found
}

func isRunner(name string) bool {
	name = path.Base(strings.TrimPrefix(name, "**/"))
	return slices.Contains(nodeRunners, name) || strings.HasPrefix(name, "jest-") || strings.HasPrefix(name, "babel-jest")
}

// runsScripts reports whether checks may run a script of a package.json. Only commands that
// certainly do not are excluded: a check that is itself a script, or make, may do anything.
func (in *inspection) runsScripts() bool {
	if len(in.rules.checks) == 0 {
		return true
	}
	for _, check := range in.rules.checks {
		for _, words := range simpleCommands(check) {
			if words = program(words); len(words) > 0 && !slices.Contains(directRunners, words[0]) {
				return true
			}
		}
	}
	return false
}

// namedScripts returns the words of the checks. One of them may be a script's name; `test` always
// is.
func (in *inspection) namedScripts() map[string]bool {
	names := map[string]bool{"test": true}
	for _, check := range in.rules.checks {
		for _, words := range simpleCommands(check) {
			for _, word := range words {
				names[word] = true
			}
		}
	}
	return names
}

// scriptsDiffer compares the scripts that checks run, and those that these run.
func (in *inspection) scriptsDiffer(was, is any) bool {
	named := in.namedScripts()
	before, after := reached(stringsOf(was), named), reached(stringsOf(is), named)
	for name, text := range before {
		if after[name] != text && !emptyScript(text) {
			return true
		}
	}
	for name := range after {
		_, known := before[name]
		// No check of the base could run a script that did not exist. But a new hook, or a new
		// script that an existing one calls, changes that existing script.
		if !known && !named[name] && !belongsToNew(name, before, after) {
			return true
		}
	}
	return false
}

// belongsToNew reports whether a script is reached only by scripts that the base did not have, or
// that were empty.
func belongsToNew(name string, before, after map[string]string) bool {
	for other, text := range after {
		old, known := before[other]
		if other != name && known && !emptyScript(old) && leadsTo(other, text, name) {
			return false
		}
	}
	return true
}

// emptyScript reports the script that `npm init` writes for a project without tests.
func emptyScript(text string) bool { return strings.Contains(text, "no test specified") }

// reached returns the named scripts, the hooks around them, and the scripts that they call.
func reached(scripts map[string]string, named map[string]bool) map[string]string {
	found := map[string]string{}
	for again := true; again; {
		again = false
		for name, text := range scripts {
			leads := named[name]
			for other, text := range found {
				leads = leads || leadsTo(other, text, name)
			}
			if _, known := found[name]; !known && leads {
				found[name], again = text, true
			}
		}
	}
	return found
}

// leadsTo reports whether running a script with that text also runs the other one.
func leadsTo(script, text, other string) bool {
	return runs(text, other) || other == "pre"+script || other == "post"+script
}

// runs reports whether a script's text has the other's name as a word, or matches it as in test:*.
func runs(text, name string) bool {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool {
		return strings.ContainsRune(" \t\n\"';&|()@[],", c)
	}) {
		prefix, wild := strings.CutSuffix(strings.TrimSuffix(word, "*"), "*")
		wild = wild || strings.HasSuffix(word, "*")
		if word == name || wild && prefix != "" && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// composerDiffers compares the scripts that checks run.
func composerDiffers(in *inspection, base, now []byte) bool {
	return objectsDiffer(base, now, func(was, is map[string]any) bool {
		return in.runsScripts() && in.scriptsDiffer(was["scripts"], is["scripts"])
	})
}

// denoDiffers compares how tests are found, and the tasks that checks run. A file with comments
// cannot be parsed here, and counts as a whole.
func denoDiffers(in *inspection, base, now []byte) bool {
	return objectsDiffer(base, now, func(was, is map[string]any) bool {
		return keysDiffer(was, is, "test", "exclude") || importsDiffer(was, is) || in.scriptsDiffer(was["tasks"], is["tasks"])
	})
}

// honestWorkspaceKeys define which packages exist, and in which version.
var honestWorkspaceKeys = []string{
	"packages", "catalog", "catalogs", "onlyBuiltDependencies", "ignoredBuiltDependencies", "minimumReleaseAge",
}

// pnpmDiffers compares everything except the list of packages: the rest are settings, such as the
// shell for scripts.
func pnpmDiffers(_ *inspection, base, now []byte) bool {
	return partsDiffer(base, now, workspaceSettings)
}

// workspaceSettings returns the lines of a YAML file without those of allowed keys. In a file that
// does not have one key per line, all keys are unknown and the whole file counts.
func workspaceSettings(text string) []string {
	var settings []string
	honest := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if !strings.ContainsAny(line[:1], " \t-]}") {
			key, _, _ := strings.Cut(line, ":")
			honest = slices.Contains(honestWorkspaceKeys, key)
		}
		if !honest {
			settings = append(settings, line)
		}
	}
	return settings
}

var viteTests = text.LazyRegexp(`vitest|\btest\s*:|["']test["']\s*:`)

// viteDiffers compares a file that is the product's build and possibly the configuration of vitest.
func viteDiffers(in *inspection, base, now []byte) bool {
	return !slices.Equal(base, now) && (viteTests().Match(base) || viteSteers(in, "", now))
}

func viteSteers(in *inspection, _ string, now []byte) bool {
	return len(now) >= Limit || viteTests().Match(now) ||
		slices.ContainsFunc(in.rules.checks, func(check string) bool { return strings.Contains(check, "vitest") })
}
