//go:build linux

package real

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The kinds of cases.
const (
	pairOfVersions = "pair"
	noticedBug     = "bug"           // the tests fail with it
	unnoticedBug   = "unnoticed bug" // they pass with it
)

// pack is a package of the list.
type pack struct {
	Ecosystem string `json:"ecosystem"`
	Name      string `json:"name"`
	newest    string
	check     string
}

// change is a case: what an honest agent does to a package, and how that ended.
type change struct {
	pack
	Kind string `json:"kind"`
	Old  string `json:"old"`
	New  string `json:"new,omitempty"`
	Bug  string `json:"bug,omitempty"` // the file, the line, and what became of it

	Dropped string   `json:"dropped,omitempty"` // why there is no right answer
	Want    int      `json:"want"`
	Why     string   `json:"why,omitempty"` // why this is the right answer
	Got     int      `json:"got"`
	Refused []string `json:"refused,omitempty"`
	Runs    int      `json:"runs"`
	CPU     float64  `json:"cpu"`  // seconds
	Bare    float64  `json:"bare"` // seconds of one bare check
	Wall    float64  `json:"wall"`
	log     string
}

// done reports whether a case was measured or dropped.
func (c *change) done() bool { return c.Dropped != "" || c.Runs > 0 }

func (c *change) label() string {
	if c.Kind == pairOfVersions {
		return fmt.Sprintf("%s %s %s..%s", c.Ecosystem, c.Name, c.Old, c.New)
	}
	return fmt.Sprintf("%s %s %s %s", c.Ecosystem, c.Name, c.Old, c.Kind)
}

func (c *change) String() string {
	if c.Dropped != "" {
		return c.label() + ": dropped: " + c.Dropped
	}
	text := fmt.Sprintf("%s: want %d (%s), got %d", c.label(), c.Want, c.Why, c.Got)
	if len(c.Refused) > 0 {
		text += ": " + strings.Join(c.Refused, "; ")
	}
	return text + fmt.Sprintf("; %d runs, %.1f s CPU, bare %.2f s, %.0f s wall", c.Runs, c.CPU, c.Bare, c.Wall)
}

// readList reads lines of an ecosystem, a name, the newest version and, after " | ", the check.
func readList(file string) ([]pack, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []pack
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		parts := strings.Split(strings.TrimSpace(line), " | ")
		words := strings.Fields(parts[0])
		if len(words) != 3 {
			return nil, fmt.Errorf("read %s: %q is not an ecosystem, a name and a version", file, line)
		}
		p := pack{Ecosystem: words[0], Name: words[1], newest: words[2], check: "go test ./..."}
		if len(parts) > 1 {
			p.check = parts[1]
		}
		list = append(list, p)
	}
	return list, nil
}

// draw returns the cases of this run.
func draw(t *testing.T) ([]*change, error) {
	list, err := readList("testdata/packages.txt")
	if err != nil {
		return nil, err
	}
	var cases []*change
	if *sample > 0 {
		cases, err = drawSample(list, *sample)
	} else {
		cases = drawAll(t, list)
	}
	return slices.DeleteFunc(cases, func(c *change) bool { return !strings.Contains(c.label(), *only) }), err
}

func drawAll(t *testing.T, list []pack) []*change {
	t.Helper()
	var cases []*change
	turns := map[*change]int{} // first pairs come first, so that a run that is stopped has some of everything
	for i, p := range list {
		first := len(cases)
		versions, err := p.versions()
		if err != nil {
			t.Logf("%s %s: left out: %v", p.Ecosystem, p.Name, err)
			continue
		}
		for _, pair := range pairs(versions, p.newest, *older, *each) {
			cases = append(cases, &change{pack: p, Kind: pairOfVersions, Old: pair[0], New: pair[1]})
		}
		if i%3 == 0 || p.Ecosystem == "debian" {
			for _, kind := range []string{noticedBug, unnoticedBug} {
				cases = append(cases, &change{pack: p, Kind: kind, Old: p.newest})
			}
		}
		for turn, c := range cases[first:] {
			turns[c] = turn
		}
	}
	slices.SortStableFunc(cases, func(a, b *change) int { return turns[a] - turns[b] })
	return cases
}

// drawSample reads the cases of testdata/sample.txt: an ecosystem, a name, and two versions, or one
// and a kind.
func drawSample(list []pack, count int) ([]*change, error) {
	file, err := os.Open("testdata/sample.txt")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var cases []*change
	for lines := bufio.NewScanner(file); lines.Scan() && len(cases) < count; {
		words := strings.SplitN(lines.Text(), " ", 4)
		i := slices.IndexFunc(list, func(p pack) bool {
			return len(words) == 4 && p.Ecosystem == words[0] && p.Name == words[1]
		})
		if i < 0 {
			return nil, fmt.Errorf("read sample: %q is not in the list", lines.Text())
		}
		c := &change{pack: list[i], Kind: words[3], Old: words[2]}
		if c.Kind != noticedBug && c.Kind != unnoticedBug {
			c.Kind, c.New = pairOfVersions, words[3]
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// pairs returns the newest pairs of adjacent versions, none newer than newest, and no prereleases.
func pairs(versions []string, newest string, skip, count int) [][2]string {
	versions = slices.DeleteFunc(slices.Clone(versions), func(v string) bool {
		return strings.ContainsAny(v, "-~") || compareVersions(v, newest) > 0
	})
	slices.SortFunc(versions, compareVersions)
	versions = slices.Compact(versions)
	var found [][2]string
	for i := len(versions) - 1 - skip; i > 0 && len(found) < count; i-- {
		found = append(found, [2]string{versions[i-1], versions[i]})
	}
	return found
}

// compareVersions compares versions number by number.
func compareVersions(a, b string) int {
	numbers := func(v string) []int {
		v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "+")
		var all []int
		for part := range strings.SplitSeq(v, ".") {
			n, _ := strconv.Atoi(part)
			all = append(all, n)
		}
		return all
	}
	return cmp.Or(slices.Compare(numbers(a), numbers(b)), strings.Compare(a, b))
}

func TestPairs(t *testing.T) {
	got := pairs([]string{"v1.2.0", "v1.10.0", "v1.9.1", "v2.0.0", "v1.11.0-rc.1", "v1.1.0"}, "v1.10.0", 1, 2)
	if want := [][2]string{{"v1.2.0", "v1.9.1"}, {"v1.1.0", "v1.2.0"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The sample must be in the list, and every check must have a program that counts its runs.
func TestLists(t *testing.T) {
	list, err := readList("testdata/packages.txt")
	if err != nil {
		t.Fatal(err)
	}
	var ends []string
	for _, p := range list {
		if name, argument := p.runner(); argument == "" {
			t.Errorf("%s %s: nothing counts runs of %q", p.Ecosystem, p.Name, p.check)
		} else if end := name + " " + argument; !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	slices.Sort(ends)
	want := []string{"go test", "make check", "node --test", "node test", "node test.js", "node test/test.js", "npx tape",
		"python3 pytest"}
	if !slices.Equal(ends, want) {
		t.Errorf("checks run %q, want %q", ends, want)
	}
	cases, err := drawSample(list, 5)
	if err != nil || len(cases) != 5 {
		t.Errorf("the sample has %d cases, want 5: %v", len(cases), err)
	}
}
