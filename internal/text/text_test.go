package text

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tasks", 1: "1 task", 2: "2 tasks"} {
		if got := Count(n, "task"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"  two\n words\t":       "two words",
		"bell\a and\u2028break": "bell and break",
		"bad \xff byte":         "bad \ufffd byte",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	if got := FirstLine("\n one\ntwo"); got != "one" {
		t.Errorf("got %q", got)
	}
}

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 5, 0},
		{"check", "check", 5, 0},
		{"chekc", "check", 5, 1},
		{"chck", "check", 5, 1},
		{"kitten", "sitting", 9, 3},
		{"a", "a name that is far too long", 3, 3},
	} {
		if got := EditDistance(tt.a, tt.b, tt.limit); got != tt.want {
			t.Errorf("EditDistance(%q, %q, %d) = %d, want %d", tt.a, tt.b, tt.limit, got, tt.want)
		}
	}
}

func TestLazyRegexp(t *testing.T) {
	digits := LazyRegexp(`^\d+$`)
	if !digits().MatchString("42") || digits().MatchString("x") || digits() != digits() {
		t.Error("the expression is compiled once and matches digits")
	}
}
