package text

import (
	"slices"
	"strconv"
	"testing"
)

func TestCountAre(t *testing.T) {
	for n, want := range map[int]string{0: "0 changes are", 1: "1 change is", 2: "2 changes are"} {
		if got := CountAre(n, "change"); got != want {
			t.Errorf("CountAre(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tasks", 1: "1 task", 2: "2 tasks"} {
		if got := Count(n, "task"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got, want := Count(2, "process"), "2 processes"; got != want {
		t.Errorf("Count = %q, want %q", got, want)
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
	for in, want := range map[string]string{"": "", "one": "one", "\n first \nsecond": "first "} {
		if got := FirstLine(in); got != want {
			t.Errorf("FirstLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMapped(t *testing.T) {
	if got := Mapped([]int{1, 2}, strconv.Itoa); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("Mapped = %q", got)
	}
	if got := Mapped([]int{}, strconv.Itoa); got != nil {
		t.Errorf("Mapped of nothing = %q, want nil", got)
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
	once := digits()
	if !once.MatchString("42") || once.MatchString("x") || digits() != once {
		t.Error("the expression is compiled once and matches digits")
	}
}

func TestTimes(t *testing.T) {
	for n, want := range map[int]string{1: "once", 2: "twice", 3: "3 times"} {
		if got := Times(n); got != want {
			t.Errorf("Times(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDigest(t *testing.T) {
	if got := Digest("use tabs"); len(got) != 16 || got != Digest("use tabs") || got == Digest("use spaces") {
		t.Errorf("Digest = %q", got)
	}
}

func TestLastOf(t *testing.T) {
	if got := LastOf([]int{1, 2, 3}, 2); len(got) != 2 || got[0] != 2 {
		t.Errorf("LastOf = %v", got)
	}
	if got := LastOf([]int{1}, 5); len(got) != 1 {
		t.Errorf("LastOf = %v", got)
	}
}

func TestList(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for n, want := range map[int]string{0: "", 1: "a", 5: "a, b, c, d, e", 7: "a, b, c, d, e and 2 more"} {
		if got := List(names[:n]); got != want {
			t.Errorf("List of %d = %q, want %q", n, got, want)
		}
	}
}

func TestAcceptFilesIsReadyForAShell(t *testing.T) {
	for want, names := range map[string][]string{
		"ralph accept --files a/b_test.go ü.md":           {"a/b_test.go", "ü.md"},
		`ralph accept --files 'two words' 'it'\''s' ./-x`: {"two words", "it's", "-x"},
	} {
		if got := AcceptFiles(names); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
