package text

import (
	"slices"
	"testing"
)

func TestWidth(t *testing.T) {
	for line, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "👩‍💻": 2, "a🎉b": 4, "…": 1, "\x1b[31mred\x1b[0m!": 4} {
		if got := Width(line); got != want {
			t.Errorf("Width(%q) = %d, want %d", line, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"too long", 5, "too …"},
		{"日本語の行", 10, "日本語の行"},
		{"日本語の行", 9, "日本語の…"},
		{"日本語の行", 8, "日本語…"}, // the fourth character would leave no room for the ellipsis
		{"ab👩‍💻cd", 5, "ab👩‍💻…"},
		{"untouched", 1, "untouched"},
	} {
		got := Fit(c.line, c.width)
		if got != c.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
		if c.width > 1 && Width(got) > c.width {
			t.Errorf("Fit(%q, %d) = %q takes %d columns", c.line, c.width, got, Width(got))
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one  two\tthree", 20, []string{"one two three"}},
		{"a incomprehensibilities b", 8, []string{"a", "incomprehensibilities", "b"}},
		{"日本 語の 行", 7, []string{"日本", "語の 行"}},
	} {
		if got := Wrap(c.line, c.width); !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}
