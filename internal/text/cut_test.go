package text

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
		cut   bool
	}{
		{"", 0, "", false},
		{"short", 5, "short", false},
		{"äöüß", 4, "äöüß", false},
		{"0123456789abcdefghij", 10, "012\n[… 10 characters cut …]\ndefghij", true},
		{"äöüäöüäöüäöüäöüäöüäöü", 10, "äöü\n[… 11 characters cut …]\nüäöüäöü", true},
	} {
		got, cut := Cut(tt.text, tt.limit)
		if got != tt.want || cut != tt.cut {
			t.Errorf("Cut(%q, %d) = %q, %v; want %q, %v", tt.text, tt.limit, got, cut, tt.want, tt.cut)
		}
	}
	text := strings.Repeat("x", 12_345)
	got, _ := Cut(text, 1000)
	number := regexp.MustCompile(`\d+`).FindString(got)
	if n, err := strconv.Atoi(number); err != nil || n+strings.Count(got, "x") != len(text) {
		t.Errorf("the mark tells %s characters, and %d of %d are left: %v", number, strings.Count(got, "x"), len(text), err)
	}
}

func TestKeepHeadAndTail(t *testing.T) {
	for _, tt := range []struct {
		text, head, tail string
		limit            int
		cut              bool
	}{
		{"", "", "", 0, false},
		{"äöü", "äöü", "äöü", 3, false},
		{"äöüß", "äöü\n[… 1 characters cut …]", "[… 1 characters cut …]\nöüß", 3, true},
		{"one\ntwo\nthree\nfour", "one\ntwo\nthr\n[… 7 characters cut …]", "[… 8 characters cut …]\nthree\nfour", 11, true},
		{"one\ntwo\nthree", "one\ntwo\nth\n[… 3 characters cut …]", "[… 4 characters cut …]\ntwo\nthree", 10, true},
		{"a long line\nb", "a long\n[… 7 characters cut …]", "[… 7 characters cut …]\nline\nb", 6, true},
		{"text", "[… 4 characters cut …]", "[… 4 characters cut …]", 0, true},
	} {
		if got, cut := KeepHead(tt.text, tt.limit); got != tt.head || cut != tt.cut {
			t.Errorf("KeepHead(%q, %d) = %q, %v; want %q, %v", tt.text, tt.limit, got, cut, tt.head, tt.cut)
		}
		if got, cut := KeepTail(tt.text, tt.limit); strings.TrimRight(got, "\n") != tt.tail || cut != tt.cut {
			t.Errorf("KeepTail(%q, %d) = %q, %v; want %q, %v", tt.text, tt.limit, got, cut, tt.tail, tt.cut)
		}
	}
}
