package sandbox

import (
	"fmt"

	"github.com/ralphloop/ralph/sandbox/internal/landlock"
)

// checkLandlock says what Landlock cannot do: a command that may change a folder may change all of it.
func checkLandlock(w Wall) error {
	rules := ordered(w.Rules)
	for _, r := range rules {
		folder, found := above(rules, r.Path)
		if r.Access == Hide && found && folder.canChange() {
			return fmt.Errorf("landlock cannot hide %s, because it is inside of %s, which can be changed", r.Path, folder.Path)
		}
	}
	return nil
}

// encloseLandlock starts this program again, which restricts itself and then executes the command. A
// read-only file in a folder that can be changed stays writable. A folder that other tiers show
// elsewhere keeps its own path, and TMPDIR names it.
func encloseLandlock(c Command, w Wall) Command {
	argv := []string{landlock.Self, landlock.Name}
	for _, r := range w.Rules {
		folder, found := above(w.Rules, r.Path)
		switch {
		case r.Access == Link: // the kernel hides no links
		case r.From != "" && r.Access == Read: // nothing can be in its place
		case r.From != "":
			argv = append(argv, string(Hide)+":"+r.Path, string(Write)+":"+r.From)
			c.Env = append(c.Env[:len(c.Env):len(c.Env)], "TMPDIR="+r.From)
		case r.Access == Read && found && folder.canChange():
		default:
			argv = append(argv, string(r.Access)+":"+r.Path)
		}
	}
	c.Offline = w.Network == Off
	c.Argv = append(append(argv, "--"), c.Argv...)
	return c
}
