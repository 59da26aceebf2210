package evaluate

import (
	"strings"
	"testing"
)

// FuzzRead: an answer is a verdict only if it holds the nonce and points at existing lines, and
// nothing takes a rejection back.
func FuzzRead(f *testing.F) {
	const nonce = "0123456789abcdef0123456789abcdef"
	for _, seed := range []string{
		accept, reject, "```json\n" + accept + "\n```", accept + reject, `{"a":{"a":{"a":`, "}", "{{}}", "```",
	} {
		f.Add(strings.ReplaceAll(seed, "NONCE", nonce))
	}
	dir := f.TempDir()
	put(f, dir+"/main.go", "one\ntwo\nthree")
	f.Fuzz(func(t *testing.T, answer string) {
		found, err := read(answer, nonce, dir)
		if err != nil {
			t.Fatal(err)
		}
		flawed := strings.NewReplacer("NONCE", nonce, "weak_test", "ugly").Replace(reject)
		behind, err := read(flawed+"\n"+answer, nonce, dir)
		if err != nil {
			t.Fatal(err)
		}
		if behind = new(priorAnswers).add(behind); behind.problem == "" && behind.Verdict == "accept" {
			t.Errorf("accepted behind a rejection: %+v", behind)
		}
		if found.problem != "" {
			return
		}
		if !strings.Contains(answer, `"`) || found.Nonce != nonce {
			t.Errorf("a verdict without the nonce: %+v", found)
		}
		for _, p := range found.Evidence {
			if p != "main.go:1" && p != "main.go:2" && p != "main.go:3" {
				t.Errorf("evidence that is not there: %q", p)
			}
		}
		if found.Verdict == "accept" && len(found.Evidence) == 0 {
			t.Errorf("accepted without evidence: %+v", found)
		}
	})
}
