package contract

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readmeLines is how long the README may be: longer text belongs on a page in docs.
const readmeLines = 150

func TestREADMEIsShort(t *testing.T) {
	if n := strings.Count(readFile(t, "README.md"), "\n"); n > readmeLines {
		t.Errorf("README.md has %d lines, more than %d; move text to docs/", n, readmeLines)
	}
}

// TestLinks checks that every relative link leads to a file, and every anchor to a heading.
func TestLinks(t *testing.T) {
	pages := map[string]Page{}
	for _, name := range pageNames(t) {
		pages[name] = Parse(readFile(t, name))
	}
	for name, page := range pages {
		for _, target := range page.Links() {
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			linked := name
			if file != "" {
				linked = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(linked))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
				continue
			}
			if anchor == "" {
				continue
			}
			if other, ok := pages[linked]; !ok || !other.Anchors()[anchor] {
				t.Errorf("%s links to %s, but %s has no heading for #%s", name, target, linked, anchor)
			}
		}
	}
}

// TestEveryPageIsInTheREADME checks that readers can find every page.
func TestEveryPageIsInTheREADME(t *testing.T) {
	readme := readFile(t, "README.md")
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if page := "docs/" + filepath.Base(name); !strings.Contains(readme, "("+page+")") {
			t.Errorf("README.md does not link to %s", page)
		}
	}
}

// TestEmbeddingShowsExamples checks that every Go program on the page is one of the examples, which
// the compiler checks.
func TestEmbeddingShowsExamples(t *testing.T) {
	shown := map[string]bool{}
	for _, block := range Parse(readFile(t, "docs/embedding.md")).blocks {
		if strings.Contains(block, "\npackage main\n") {
			shown[block+"\n"] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !shown[string(text)] {
			t.Errorf("docs/embedding.md does not show %s as it is", file)
		}
		delete(shown, string(text))
	}
	if len(shown) > 0 {
		t.Errorf("docs/embedding.md shows %d programs that are not in examples/", len(shown))
	}
}

func TestAnchorsAndLinks(t *testing.T) {
	page := Parse("# Use `it`, now\n## 6. Breaker and other numbers\n## Twice\n## Twice\n[a](b.md#c) `[no](x.md)` " +
		"![i](p.png)\n```\n# no\n[n](n.md)\n```\n")
	for _, anchor := range []string{"use-it-now", "6-breaker-and-other-numbers", "twice", "twice-1"} {
		if !page.Anchors()[anchor] {
			t.Errorf("no anchor %s in %v", anchor, page.Anchors())
		}
	}
	if got := strings.Join(page.Links(), " "); got != "b.md#c p.png" {
		t.Errorf("links: %s", got)
	}
}

// pageNames lists the pages for readers, with slashes, from the repository's root.
func pageNames(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "AGENTS.md"}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md", "changelog/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			names = append(names, path.Join(path.Dir(pattern), filepath.Base(file)))
		}
	}
	return names
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noName  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Links lists the targets of the page's links.
func (p Page) Links() []string { return groups(link, codeSpan.ReplaceAllString(p.text, "")) }

// Anchors are the names that GitHub gives to the page's headings.
func (p Page) Anchors() map[string]bool {
	anchors := map[string]bool{}
	for _, title := range groups(heading, p.text) {
		name := noName.ReplaceAllString(strings.ToLower(title), "")
		name = strings.ReplaceAll(name, " ", "-")
		for i, first := 1, name; anchors[name]; i++ {
			name = first + "-" + string(rune('0'+i))
		}
		anchors[name] = true
	}
	return anchors
}
