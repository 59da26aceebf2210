package protect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScriptNames(t *testing.T) {
	for check, want := range map[string][]string{
		"./check.sh": {"check.sh"}, "bash ./check.sh": {"check.sh"}, "sh -c './check.sh'": {"check.sh"},
		"cd sub && ./run.sh": {"sub/run.sh"}, "(cd sub && sh ./run.sh)": {"sub/run.sh"},
		"if ./a.sh; then ./b.sh; else ./c.sh; fi": {"a.sh", "b.sh", "c.sh"},
		"for f in a b; do ./check.sh $f; done":    {"check.sh"}, "while ./check.sh; do sleep 1; done": {"check.sh"},
		"case x in a) ./check.sh;; esac": {"check.sh"},
		"{ ./check.sh; }":                {"check.sh"}, "! ./check.sh": {"check.sh"}, "f() { ./check.sh; }; f": {"check.sh"},
		"[[ -f ./x ]] && ./check.sh": {"check.sh"},
		"$(./check.sh)":              {"check.sh"}, "`./check.sh`": {"check.sh"}, "echo \"`./check.sh`\"": {"check.sh"},
		"A=$(./check.sh) go test": {"check.sh"}, "diff <(./check.sh) x": {"check.sh"},
		"./a.sh | ./b.sh && ./c.sh || ./d.sh; ./e.sh &": {"a.sh", "b.sh", "c.sh", "d.sh", "e.sh"},
		"\"./a b.sh\"": {"a b.sh"}, "./a\\ b.sh": {"a b.sh"}, "./a\\\nb.sh": {"ab.sh"},
		">log ./check.sh": {"check.sh"}, "./check.sh >log 2>&1": {"check.sh"}, "sh <check.sh": {"check.sh"},
		"sh < ./check.sh": {"check.sh"}, "sh <<EOF\n./check.sh\nEOF": {"check.sh"}, "sh <<< ./check.sh": {"check.sh"},
		"go test ./...": nil, "go test > ./log": nil, "# ./check.sh": nil,
		"./check.sh 'open": {"check.sh"}, "if true; then ./check.sh": {"check.sh"},
	} {
		if diff := cmp.Diff(want, scriptNames([]string{check})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", check, diff)
		}
	}
}
