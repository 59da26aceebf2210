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
// ends with /** matches all files below a folder.
type RepoFile struct {
	Path string
	Keys []string
}

// Effect is what a key of such a file does, as far as that is known.
type Effect struct{ Key, Value string }

// effectSize is how much of a value is shown.
const effectSize = 160

// Effects returns what a file with this text makes a CLI do. One without a key is the effect of the
// whole file.
func (f RepoFile) Effects(cli, name, content string) []Effect {
	// A search does not find a key that is spelled with escapes.
	if len(f.Keys) == 0 || strings.Contains(content, `\u`) || strings.Contains(content, `\x`) {
		return []Effect{{}}
	}
	var found []Effect
	switch ext := path.Ext(name); {
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
// when the file is used.
func markdownEffects(keys []string, content string) (found []Effect) {
	head := "\n" + frontMatter().FindString(strings.TrimPrefix(content, "\ufeff"))
	for _, key := range keys {
		if key == inlineCommand {
			if _, rest, ok := strings.Cut(content, key); ok {
				command, _, _ := strings.Cut(rest, "`")
				found = append(found, Effect{"command", promise.OneLine("runs "+command, effectSize)})
			}
			continue
		}
		for line := range strings.Lines(head) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.Trim(name, ` "'`) == key {
				found = append(found, Effect{key, promise.OneLine(value, effectSize)})
				break
			}
		}
	}
	return found
}

// inlineCommand starts a command in a Markdown file.
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
