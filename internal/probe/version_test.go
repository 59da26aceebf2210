package probe

import (
	"testing"

	"github.com/ralphloop/ralph/agent"
)

func TestParseVersion(t *testing.T) {
	for said, want := range map[string]string{
		"2.1.325 (Claude Code)\n": "2.1.325",
		"codex-cli 0.166.0":       "0.166.0",
		"GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.": "1.0.102",
		"0.62.0-nightly.20261101.abc\n":                                           "0.62.0-nightly.20261101.abc",
		"v1.18.33":                                                                "1.18.33",
		"aider 0.86":                                                              "0.86",
		"\n  1.2.3\n":                                                             "1.2.3",
		"no number here\n1.2.3":                                                   "",
		"version 7":                                                               "",
		"":                                                                        "",
		"2026.10.01-abc (build 1.2)":                                              "2026.10.01-abc",
		"\x1b[1mtool\x1b[0m 3.4.5\x1b[0m":                                         "3.4.5",
	} {
		if got := ParseVersion(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	// Each comes before the next.
	for _, order := range [][]string{
		{"0.9", "0.10", "0.10.1", "1.0", "2.1.9", "2.1.10", "2.1.325", "10.0.0"},
		{"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0"},
		{"0.62.0-nightly.20261101", "0.62.0-preview.1", "0.62.0", "0.62.1-nightly.1"},
	} {
		for i := range order {
			for j := range order {
				want := 0
				if i < j {
					want = -1
				} else if i > j {
					want = 1
				}
				if got := CompareVersions(order[i], order[j]); got != want {
					t.Errorf("%s and %s: %d, want %d", order[i], order[j], got, want)
				}
			}
		}
	}
	if got := CompareVersions("1.2", "1.2.0"); got != 0 {
		t.Errorf("a missing field is no zero: %d", got)
	}
}

func TestWhyBroken(t *testing.T) {
	broken := []agent.BrokenVersion{
		{First: "2.1.9", Fixed: "2.1.12", Why: "the result is lost"}, {Fixed: "1.0", Why: "too old"},
		{First: "3.0", Why: "not yet mended"},
	}
	for version, want := range map[string]string{
		"": "", "0.99.1": "too old", "1.0": "", "2.1.8": "", "2.1.9": "the result is lost",
		"2.1.11": "the result is lost", "2.1.12": "", "2.1.90": "",
		"3.0.0": "not yet mended", "12.0": "not yet mended", "3.0.0-beta": "",
	} {
		if got := WhyBroken(version, broken); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

func FuzzCompareVersions(f *testing.F) {
	f.Add("1.2.3", "1.2.3-beta")
	f.Add("", "99999999999999999999999.1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if CompareVersions(a, b) != -CompareVersions(b, a) || CompareVersions(a, a) != 0 {
			t.Errorf("%q and %q have no order", a, b)
		}
	})
}

func TestOnlyTheBeginningIsKept(t *testing.T) {
	var b beginning
	for range 1000 {
		if n, err := b.Write([]byte("1.2.3 and more\n")); n != 15 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(b.text) != 4<<10 || ParseVersion(string(b.text)) != "1.2.3" {
		t.Errorf("%d bytes: %q", len(b.text), ParseVersion(string(b.text)))
	}
}
