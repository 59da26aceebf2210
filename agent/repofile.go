package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// RepoFile is a file of a repository that a CLI reads, as a path or a pattern, and the keys in it
// that name something to run or allow something. Without keys the whole file counts. A pattern that
// ends with /** matches all files below a folder, and one that ends with /**.md or /**.md,.json only
// those with such an ending.
type RepoFile struct {
	Path string
	Keys []string
}

// Below returns the folder of a pattern with /**, and whether it is one.
func (f RepoFile) Below() (folder string, ok bool) {
	folder, _, ok = strings.Cut(f.Path, "/**")
	return folder, ok
}

// Reads reports whether the CLI reads a file with that name, if it matches the rest of the pattern.
func (f RepoFile) Reads(name string) bool {
	_, endings, _ := strings.Cut(f.Path, "/**")
	return endings == "" || slices.Contains(strings.Split(endings, ","), strings.ToLower(path.Ext(name)))
}

// Effect is what a key of such a file does, as far as that is known.
type Effect struct{ Key, Value string }

// effectSize is how much of a value is shown.
const effectSize = 160

// Effects returns what a file with this text makes a CLI do. One without a key is the effect of the
// whole file.
func (f RepoFile) Effects(cli, name, content string) []Effect {
	ext := strings.ToLower(path.Ext(name))
	searched := content
	if ext == ".md" {
		searched = markdownHead(content)
	}
	// A search does not find a key that is spelled with escapes.
	if len(f.Keys) == 0 || strings.Contains(searched, `\u`) || strings.Contains(searched, `\x`) {
		return []Effect{{}}
	}
	var found []Effect
	switch {
	case strings.HasPrefix(ext, ".json"):
		found = jsonEffects(f.Keys, content)
	case ext == ".md":
		found = markdownEffects(f.Keys, content)
	default:
		found = wordEffects(f.Keys, content)
	}
	for i, e := range found {
		if phrase := effectPhrases[e.Key]; phrase != "" && e.Value != "" {
			found[i].Value = fmt.Sprintf(phrase, cli, e.Value)
		}
	}
	return found
}

// effectPhrases say what keys mean whose values do not show it.
var effectPhrases = map[string]string{
	"allow": letsUse, "allowed": letsUse, "allowedTools": letsUse, "allowed-tools": letsUse,
	"additionalDirectories": "lets %s edit files in %s",
}

const letsUse = "lets %s use %s without asking"

// jsonEffects finds keys at any depth. In a file that is not JSON, the CLI may still find some.
func jsonEffects(keys []string, content string) (found []Effect) {
	var root any
	if json.Unmarshal(withoutComments([]byte(content)), &root) != nil {
		return wordEffects(text.Mapped(keys, func(key string) string { return `"` + key + `"` }), content)
	}
	for _, key := range keys {
		var shown []string
		for _, value := range valuesOf(root, key) {
			if list, ok := value.([]any); !ok || len(list) > 0 { // an empty list does nothing
				shown = append(shown, showValue(value))
			}
		}
		if shown != nil {
			found = append(found, Effect{key, promise.OneLine(strings.Join(shown, ", "), effectSize)})
		}
	}
	return found
}

// valuesOf returns the values of a key at any depth, except within such a value.
func valuesOf(value any, key string) (found []any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if name == key {
				found = append(found, value[name])
				continue
			}
			found = append(found, valuesOf(value[name], key)...)
		}
	case []any:
		for _, item := range value {
			found = append(found, valuesOf(item, key)...)
		}
	}
	return found
}

// showValue shows the commands in a value, or else the value.
func showValue(value any) string {
	if commands := valuesOf(value, "command"); commands != nil {
		return "runs " + strings.Join(text.Mapped(commands, showList), ", ")
	}
	return showList(value)
}

// showList shows a string, or a list of strings, without quotes.
func showList(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case []any:
		return strings.Join(text.Mapped(value, showList), ", ")
	}
	shown, _ := json.Marshal(value) // it comes from JSON
	return string(shown)
}

// markdownEffects finds keys in the head of a Markdown file, and the mark of a command that runs
// when the file is used. A head that is written in another way than line by line counts as a whole.
func markdownEffects(keys []string, content string) (found []Effect) {
	head := markdownHead(content)
	if !isPlainHead(head) {
		return []Effect{{}}
	}
	for _, key := range keys {
		if key == inlineCommand {
			if m := markdownCommand().FindStringSubmatch(content); m != nil {
				found = append(found, Effect{"command", promise.OneLine("runs "+m[1]+m[2], effectSize)})
			}
			continue
		}
		for line := range strings.Lines(head) {
			name, value, ok := strings.Cut(line, ":")
			if ok && strings.Trim(strings.TrimSpace(name), `"'`) == key {
				found = append(found, Effect{key, promise.OneLine(value, effectSize)})
				break
			}
		}
	}
	return found
}

// markdownHead returns the lines between the first line of a Markdown file, if that is ---, and the
// next line that starts so. YAML has more line breaks than one.
func markdownHead(content string) string {
	content = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").
		Replace(strings.TrimPrefix(content, "\ufeff"))
	head, ok := strings.CutPrefix(content, "---")
	if !ok || strings.HasPrefix(head, "-") { // a rule
		return ""
	}
	head, _, _ = strings.Cut(head, "\n---")
	return strings.TrimLeft(head, " \t") + "\n"
}

// isPlainHead reports whether each line of a head is empty, a comment, KEY: VALUE, or a part of the
// value above it: indented, or in a list.
func isPlainHead(head string) bool {
	keys := 0
	for line := range strings.Lines(head) {
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case plainKey().MatchString(line):
			keys++
		case keys > 0 && (line[0] == ' ' || line[0] == '\t' || strings.HasPrefix(line, "- ")):
		default:
			return false
		}
	}
	return true
}

var (
	plainKey = text.LazyRegexp(`^["']?\w[\w. -]*["']?\s*:\s`)
	// markdownCommand matches what claude 2.1 runs: !`command` at the start of a word, and a block that
	// starts with ```!. An argument in front of it may be empty.
	markdownCommand = text.LazyRegexp("(?m)(?:^|[\\s\\p{Z}\\x{feff}\\x{b}]|\\$\\S*)!`([^`]+)`|(?s)```!(.*?)```")
)

// inlineCommand is the key for commands in the text of a Markdown file.
const inlineCommand = "!`"

// wordEffects finds words anywhere.
func wordEffects(words []string, content string) (found []Effect) {
	for _, word := range words {
		if strings.Contains(content, word) {
			found = append(found, Effect{Key: strings.Trim(word, `"`)})
		}
	}
	return found
}
