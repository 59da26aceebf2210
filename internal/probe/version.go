package probe

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/process"
)

// askTimeout limits the version query. Some CLIs take seconds to start on a busy machine.
const askTimeout = 30 * time.Second

// AskVersion asks a program for its version; "" if it does not report one.
func AskVersion(ctx context.Context, path string, env []string) string {
	var out beginning
	ended, err := process.Run(ctx, process.Spec{
		Argv:    []string{path, "--version"},
		Env:     env,
		Timeout: askTimeout,
		Stdout:  process.Sink{Tap: &out},
	})
	if err != nil || ended.ExitCode != 0 {
		return ""
	}
	return ParseVersion(string(out.text))
}

// beginning keeps the first bytes written to it: a program that merely has the name of a CLI may
// print anything.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), 4<<10-len(b.text))]...)
	return len(p), nil
}

var versionNumber = regexp.MustCompile(`\d+(?:\.\d+)+(?:-[0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*)?`)

// ParseVersion returns the version number in the first line of a program's version output, or "" if
// there is none.
func ParseVersion(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return versionNumber.FindString(line)
}

// CompareVersions orders versions by their fields, as numbers. A prerelease (1.2.0-beta.1) comes
// before its release.
func CompareVersions(a, b string) int {
	a, aheadA, isAheadA := strings.Cut(a, "-")
	b, aheadB, isAheadB := strings.Cut(b, "-")
	if order := compareFields(a, b); order != 0 {
		return order
	}
	switch {
	case isAheadA && isAheadB:
		return compareFields(aheadA, aheadB)
	case isAheadA:
		return -1
	case isAheadB:
		return 1
	}
	return 0
}

// compareFields treats a missing field as zero, and a word as greater than any number.
func compareFields(a, b string) int {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(left), len(right)) {
		x, y := fieldAt(left, i), fieldAt(right, i)
		m, errX := strconv.ParseUint(x, 10, 64)
		n, errY := strconv.ParseUint(y, 10, 64)
		order := cmp.Compare(x, y)
		switch {
		case errX == nil && errY == nil:
			order = cmp.Compare(m, n)
		case errX == nil:
			order = -1
		case errY == nil:
			order = 1
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

func fieldAt(fields []string, i int) string {
	if i >= len(fields) {
		return "0"
	}
	return fields[i]
}

// WhyBroken returns what is known to be wrong with a version, or "" if nothing is or the version is
// unknown.
func WhyBroken(version string, broken []agent.BrokenVersion) string {
	if version == "" {
		return ""
	}
	for _, b := range broken {
		if (b.First == "" || CompareVersions(version, b.First) >= 0) &&
			(b.Fixed == "" || CompareVersions(version, b.Fixed) < 0) {
			return b.Why
		}
	}
	return ""
}
