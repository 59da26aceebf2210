package protect_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// trees are the two sides of a comparison, by name.
type trees struct{ base, now map[string]string }

func (t trees) read(_ context.Context, side protect.Side, name string) ([]byte, error) {
	files := t.base
	if side == protect.Now {
		files = t.now
	}
	text, is := files[name]
	if !is {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (t trees) both() protect.Trees { return protect.Trees{Read: t.read, Find: t.find} }

func (t trees) find(ctx context.Context, side protect.Side, names, words []string) ([]protect.Mention, error) {
	var found []protect.Mention
	for _, name := range names {
		text, err := t.read(ctx, side, name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
				found = append(found, protect.Mention{Name: name, Line: strings.TrimSpace(line)})
			}
		}
	}
	return found, nil
}

// changes lists what a tree would report.
func (t trees) changes() []ralph.FileChange {
	var changes []ralph.FileChange
	for name, text := range t.base {
		switch now, is := t.now[name]; {
		case !is:
			changes = append(changes, ralph.FileChange{Name: name, Kind: ralph.FileDeleted})
		case now != text:
			changes = append(changes, ralph.FileChange{Name: name, Kind: ralph.FileChanged})
		}
	}
	for name := range t.now {
		if _, is := t.base[name]; !is {
			changes = append(changes, ralph.FileChange{Name: name, Kind: ralph.FileAdded})
		}
	}
	return changes
}

func (t trees) names() []string {
	var names []string
	for name := range t.base {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// short formats a result as "name kind".
type short struct{ Tampered, Unseen, Tests []string }

func shorten(s protect.Sorted) short {
	list := func(changes []ralph.FileChange) []string {
		var texts []string
		for _, c := range changes {
			texts = append(texts, c.Name+" "+string(c.Kind))
		}
		return texts
	}
	return short{list(s.Tampered), list(s.Unseen), list(s.Tests)}
}

func sorted(t *testing.T, c protect.Config, tree trees) short {
	t.Helper()
	rules, err := protect.New(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := rules.Since(tree.names()).Sort(t.Context(), tree.changes(), tree.both())
	if err != nil {
		t.Fatal(err)
	}
	return shorten(got)
}

func TestUserPatterns(t *testing.T) {
	tree := trees{
		base: map[string]string{
			"tests/a/x.txt": "1", "out.golden": "1", "deep/out.golden": "1", "deep/own.golden": "1", "lib/x.py": "1",
			"TODO.md": "1", "ralph.yaml": "1",
		},
		now: map[string]string{
			"tests/a/x.txt": "2", "deep/out.golden": "2", "deep/own.golden": "2", "lib/x.py": "2", "new/new.golden": "1",
			"TODO.md": "2", "ralph.yaml": "2",
		},
	}
	got := sorted(t, protect.Config{
		Globs:   []string{"tests/**", "*.golden", "!own.golden", "*.md"},
		Literal: []string{"ralph.yaml"},
		Exempt:  []string{"TODO.md"},
	}, tree)
	want := short{
		Tampered: []string{"deep/out.golden changed", "out.golden deleted", "ralph.yaml changed", "tests/a/x.txt changed"},
		Unseen:   []string{"new/new.golden added"},
		Tests:    []string{"deep/own.golden changed"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
