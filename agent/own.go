package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// Own is what a run does with the settings that the user has for sessions of their own: their rules,
// model, environment and memory stay, what starts other programs is left out.
type Own struct {
	LeftOut []string // what the user has and the run does not use, such as "2 hooks"
	Notes   []string // what else the user should know about their settings, a clause each
}

// leaveOut adds what a run leaves out, if there is any.
func (o *Own) leaveOut(n int, noun string) {
	if n > 0 {
		o.LeftOut = append(o.LeftOut, text.Count(n, noun))
	}
}

// Own returns what a run in that folder does with the user's own settings.
func (c *CLI) Own(dir string) Own {
	own := c.o.Dialect.About().Own
	if own == nil || c.o.InheritSettings {
		return Own{}
	}
	r := c.request("", "")
	r.Dir = dir
	var large []string
	read := r.Look.File
	r.Look.File = func(path string) ([]byte, bool) {
		content, ok := read(path)
		if ok && content == nil && !slices.Contains(large, path) {
			large = append(large, path)
		}
		return content, ok
	}
	result := own(r)
	for _, path := range large {
		note := "Ralph does not read " + path + ", which is larger than 1 MB; what it says does not count"
		result.Notes = append(result.Notes, note)
	}
	return result
}

// file reads a small file. The zero Look has none.
func (l Look) file(path string) ([]byte, bool) {
	if l.File == nil {
		return nil, false
	}
	return l.File(path)
}

// list returns the names in a folder, those of folders with a slash at their end.
func (l Look) list(dir string) []string {
	if l.List == nil {
		return nil
	}
	return l.List(dir)
}

// listFolder lists a folder for a Look. A link counts as what it points to.
func listFolder(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // without a folder there is nothing
	for _, e := range entries {
		name := e.Name()
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	return names
}

// jsonObject is an object of which only some fields are known.
type jsonObject map[string]json.RawMessage

// readObject reads a file that has a JSON object, possibly with comments; nil if it has none.
func (l Look) readObject(path string) jsonObject {
	content, ok := l.file(path)
	if !ok {
		return nil
	}
	return parseObject(withoutComments(content))
}

func parseObject(content []byte) jsonObject {
	var object jsonObject
	if json.Unmarshal(content, &object) != nil {
		return nil
	}
	return object
}

// object returns a field that is an object; nil if it is not.
func (o jsonObject) object(name string) jsonObject { return parseObject(o[name]) }

// strings returns a field that is a list of strings, and whether it is one.
func (o jsonObject) strings(name string) (list []string, ok bool) {
	return list, json.Unmarshal(o[name], &list) == nil && list != nil
}

// word returns a field that is a string; "" if it is not.
func (o jsonObject) word(name string) (value string) {
	_ = json.Unmarshal(o[name], &value)
	return value
}

// set sets a field. The value can always be encoded.
func (o jsonObject) set(name string, value any) { o[name], _ = json.Marshal(value) }

// merge adds the fields of another object, which win. Objects in both are merged.
func (o jsonObject) merge(other jsonObject) {
	for name, value := range other {
		if into, from := o.object(name), parseObject(value); into != nil && from != nil {
			into.merge(from)
			o.set(name, into)
			continue
		}
		o[name] = value
	}
}

// String returns the object as the text of a file.
func (o jsonObject) String() string {
	compact, _ := json.Marshal(o)
	var b bytes.Buffer
	_ = json.Indent(&b, compact, "", "  ") // it was just encoded
	return b.String() + "\n"
}

// countEntries counts the entries of a folder, without hidden ones.
func (l Look) countEntries(dir string) (n int) {
	for _, name := range l.list(dir) {
		if !strings.HasPrefix(name, ".") {
			n++
		}
	}
	return n
}

// countHooks counts hooks by event, in the form that several CLIs share.
func countHooks(events jsonObject) (n int) {
	for _, event := range events {
		var matchers []struct{ Hooks []json.RawMessage }
		_ = json.Unmarshal(event, &matchers)
		for _, m := range matchers {
			n += len(m.Hooks)
		}
	}
	return n
}
