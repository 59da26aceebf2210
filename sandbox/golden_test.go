package sandbox

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEnclosedCommands compares the command of each tier with a file: one word a line, then the
// environment. Write them with -update.
func TestEnclosedCommands(t *testing.T) {
	wall := Wall{Rules: []Rule{
		{Path: "/home/ada/work", Access: Write},
		{Path: "/home/ada", Access: Hide},
		{Path: "/tmp", Access: Write, From: "/tmp/room"},
		{Path: "/home/ada/.local/bin", Access: Read},
		{Path: "/home/ada/work/.git/config", Access: Read},
		{Path: "/home/ada/bin", Access: Link, From: ".local/bin"},
		{Path: `/srv/with "quotes" and spaces`, Access: Write},
		{Path: "/home/ada/work", Access: Write}, // of two rules for a path the last counts
	}}
	command := Command{
		Argv: []string{"/usr/bin/agent", "--print", "say \"hello\""}, Dir: "/home/ada/work",
		Env: []string{"HOME=/home/ada", "PATH=/usr/bin", "TMPDIR=/tmp"},
	}
	for _, tier := range []Tier{None, Landlock, Bwrap, Seatbelt} {
		for _, network := range []Network{Open, Off} {
			name := string(tier) + "_" + string(network)
			t.Run(name, func(t *testing.T) {
				wall := wall
				wall.Network = network
				if err := tier.Check(wall); err != nil {
					t.Fatal(err)
				}
				compareGolden(t, filepath.Join("testdata", name+".golden"), written(tier.Enclose(command, wall)))
			})
		}
	}
}

// TestThinWalls compares the command around a check of an ordinary user, and of root.
func TestThinWalls(t *testing.T) {
	wall := Wall{Thin: true, Rules: []Rule{
		{Path: "/home/ada/.local", Access: Write},
		{Path: "/home/ada/.local/bin", Access: Read},
		{Path: "/home/ada/.local/state/ralph", Access: Hide},
		{Path: "/home/ada/.local/state/ralph/views", Access: Write},
	}}
	command := Command{Argv: []string{"sh", "-c", "make test"}, Dir: "/home/ada/work", Env: []string{"HOME=/home/ada"}}
	for name, root := range map[string]bool{"user": false, "root": true} {
		wall.Root = root
		if err := Bwrap.Check(wall); err != nil {
			t.Fatal(err)
		}
		compareGolden(t, filepath.Join("testdata", "bwrap_thin_"+name+".golden"), written(Bwrap.Enclose(command, wall)))
	}
	for _, tier := range []Tier{None, Landlock, Docker, Sbx, Seatbelt} {
		if err := tier.Check(Wall{Thin: true, Box: Box{Name: "name", Image: "image"}}); err == nil {
			t.Errorf("%s has a thin wall", tier)
		}
	}
}

// written returns a command as text.
func written(c Command) string {
	var b strings.Builder
	for _, word := range c.Argv {
		b.WriteString(word + "\n")
	}
	b.WriteString("\nin " + c.Dir + "\n")
	for _, entry := range c.Env {
		b.WriteString(entry + "\n")
	}
	if c.Offline {
		b.WriteString("offline\n")
	}
	return b.String()
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestLandlockRefusesWhatItCannotHide(t *testing.T) {
	wall := Wall{Rules: []Rule{{Path: "/work", Access: Write}, {Path: "/work/secret", Access: Hide}}}
	const want = "landlock cannot hide /work/secret, because it is inside of /work, which can be changed"
	if err := Landlock.Check(wall); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := Bwrap.Check(wall); err != nil {
		t.Error(err)
	}
}

func TestAPathInAnotherFormIsRefused(t *testing.T) {
	for _, path := range []string{"work", "/work/../etc", "/work/", "/two\nlines"} {
		if err := Bwrap.Check(Wall{Rules: []Rule{{Path: path, Access: Write}}}); err == nil {
			t.Errorf("%q was accepted", path)
		}
	}
}
