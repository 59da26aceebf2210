package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSimpleCommands(t *testing.T) {
	cases := map[string][]string{
		"":                            nil,
		" \t\n":                       nil,
		"go test ./...":               {"go test ./..."},
		"go vet ./... && go test":     {"go vet ./... && go test", "go vet ./...", "go test"},
		"a;b||c|d&e":                  {"a;b||c|d&e", "a", "b", "c", "d", "e"},
		"make >out.txt 2>&1":          {"make >out.txt 2>&1", "make"},
		"make > a.txt < b.txt; x":     {"make > a.txt < b.txt; x", "make", "x"},
		`make "a && b"`:               {`make "a && b"`},
		"make $(cat targets) && true": {"make $(cat targets) && true"},
		"make\ntrue":                  {"make\ntrue"},
		"make 'a' > out.txt":          {"make 'a' > out.txt"},
		"make   a &&   x":             {"make   a &&   x", "make   a", "x"},
		"make>a b":                    {"make>a b", "make b"},
		"A=1 make; x":                 {"A=1 make; x", "A=1 make", "x"},
		"time make && x":              {"time make && x", "time make", "x"},
		"make & x &":                  {"make & x &", "make", "x"},
		"make # all":                  {"make # all"},
		"if a; then b; fi":            {"if a; then b; fi"},
		"! make && x":                 {"! make && x"},
		"sh <<< x":                    {"sh <<< x"},
		"make &&":                     {"make &&"},
	}
	for line, want := range cases {
		if diff := cmp.Diff(want, simpleCommands([]string{line, line})); diff != "" {
			t.Errorf("%q -want +got:\n%s", line, diff)
		}
	}
}
