package agent

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

const (
	maxMemory   = 100 << 10 // more than anyone writes by hand
	maxIncludes = 5         // how deep files may include others, as in the CLI
)

// claudeMemory returns the user's own memory as the CLI would load it: CLAUDE.md, the rules, and the
// files that they include. "" means that there is none.
func claudeMemory(u claudeUser) string {
	m := &userMemory{look: u.look}
	m.add(filepath.Join(u.dir, "CLAUDE.md"), 0)
	m.addRules(filepath.Join(u.dir, "rules"), 0)
	if len(m.parts) == 0 {
		return ""
	}
	all := "The user's own instructions for all projects. Follow them unless the project or the task says otherwise.\n\n" +
		strings.Join(m.parts, "\n")
	kept, _ := text.KeepHead(all, maxMemory)
	return kept
}

// userMemory collects files, each once.
type userMemory struct {
	look  Look
	seen  []string
	parts []string
}

// addRules adds the Markdown files in a folder and those below it.
func (m *userMemory) addRules(dir string, depth int) {
	for _, name := range m.look.list(dir) {
		path := filepath.Join(dir, name)
		switch {
		case strings.HasSuffix(name, "/") && depth < maxIncludes:
			m.addRules(path, depth+1)
		case strings.HasSuffix(name, ".md"):
			m.add(path, 0)
		}
	}
}

// add adds a file and those that it includes.
func (m *userMemory) add(path string, depth int) {
	if depth >= maxIncludes || slices.Contains(m.seen, path) {
		return
	}
	content, ok := m.look.file(path)
	if !ok || !utf8.Valid(content) {
		return
	}
	m.seen = append(m.seen, path)
	body := strings.TrimSpace(withoutFrontMatter(string(content)))
	if body != "" {
		m.parts = append(m.parts, "# "+path+"\n\n"+body+"\n")
	}
	for _, include := range memoryIncludes(body) {
		m.add(m.resolve(include, filepath.Dir(path)), depth+1)
	}
}

// resolve returns the path of an included file.
func (m *userMemory) resolve(include, dir string) string {
	switch rest, home := strings.CutPrefix(include, "~/"); {
	case home:
		return filepath.Join(m.look.Home, rest)
	case filepath.IsAbs(include):
		return filepath.Clean(include)
	}
	return filepath.Join(dir, include)
}

var (
	frontMatter   = text.LazyRegexp(`(?s)\A---\r?\n(.*?\n)?---\r?(?:\n|\z)`)
	memoryCode    = text.LazyRegexp("(?ms)^[ \t]*(?:```.*?^[ \t]*```|~~~.*?^[ \t]*~~~)[ \t]*$|`[^`\n]*`|<!--.*?-->")
	memoryInclude = text.LazyRegexp(`(?:^|\s)@((?:[^\s\\]|\\ )+)`)
	memoryPath    = text.LazyRegexp(`^(?:\./|~/|/.|[A-Za-z0-9._-])`)
)

// withoutFrontMatter removes the head of a Markdown file, unless it says for which files the rest
// applies: the model has to know that.
func withoutFrontMatter(content string) string {
	head := frontMatter().FindString(content)
	if strings.Contains(head, "\npaths:") {
		return content
	}
	return content[len(head):]
}

// memoryIncludes returns what a text includes, as in "see @notes.md", outside of code.
func memoryIncludes(body string) (paths []string) {
	for _, m := range memoryInclude().FindAllStringSubmatch(memoryCode().ReplaceAllString(body, ""), -1) {
		path, _, _ := strings.Cut(m[1], "#")
		if path = strings.ReplaceAll(path, `\ `, " "); memoryPath().MatchString(path) {
			paths = append(paths, path)
		}
	}
	return paths
}
