package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/sandbox/internal/landlock"
)

// Tier is a way to enclose a command.
type Tier string

// The tiers.
const (
	None     Tier = "none"     // no wall at all
	Landlock Tier = "landlock" // the kernel's rules for a process and its children
	Bwrap    Tier = "bwrap"    // namespaces, by bubblewrap
	Docker   Tier = "docker"   // a container
	Sbx      Tier = "sbx"      // a microVM of Docker Sandboxes
	Seatbelt Tier = "seatbelt" // macOS's sandbox-exec; untested
)

// Contains reports whether an agent may work without asking in this tier: nothing that it does can reach
// the user's own files or programs.
func (t Tier) Contains() bool { return t == Bwrap || t == Docker || t == Sbx }

// HasPrograms reports whether a tier has programs of its own, instead of those of the host.
func (t Tier) HasPrograms() bool { return t == Docker || t == Sbx }

// IsLocal reports whether the tier is a matter of this kernel, without an engine.
func (t Tier) IsLocal() bool { return t == Bwrap || t == Landlock }

// Complaint begins a line on standard error by which this program says why a command did not start.
const Complaint = landlock.Complaint

// Failed reports whether a command did not start because the tier did not work, by its exit status and its
// first line on standard error. A command that wants to seem to have failed like that can; it gains nothing.
func (t Tier) Failed(status int, complaint string) bool {
	const engineFailed = 125
	switch t {
	case Bwrap:
		return status == 1 && strings.HasPrefix(complaint, "bwrap: ")
	case Landlock:
		return status == landlock.SetupFailed && strings.HasPrefix(complaint, Complaint)
	case Docker, Sbx:
		return status == engineFailed
	}
	return false
}

// Command is a process before it starts.
type Command struct {
	Argv []string
	Dir  string
	Env  []string // the whole environment as KEY=value
	// Offline means that the caller must give the command a network of its own when it starts it, with nothing
	// but loopback. Other tiers do that themselves.
	Offline bool
}

// Access is what a command can do with a file or folder.
type Access string

// The kinds of access.
const (
	Hide  Access = "hide"  // a folder that looks empty
	Read  Access = "read"  // read and execute
	Write Access = "write" // anything
	Link  Access = "link"  // a link to From, in a folder that is hidden otherwise
)

// Rule is the access to a path and everything below it.
type Rule struct {
	Path   string // absolute, without links; it exists
	Access Access
	// From is something else that the command sees at Path; "" for Path itself. For a Link it is the target.
	From string
}

// source returns the path outside of what the command sees at Path.
func (r Rule) source() string { return cmp.Or(r.From, r.Path) }

// canChange reports whether the command can change the files that are at the path outside.
func (r Rule) canChange() bool { return r.Access == Write && r.From == "" }

// Network is what a command can connect to.
type Network string

// The networks.
const (
	Open Network = "open" // as outside
	Off  Network = "off"  // loopback only
)

// Limits are what a container may use; 0 means no limit. In other tiers, the caller limits the command
// when it starts it.
type Limits struct {
	Memory    int64 // bytes
	Processes int
}

// Wall is what a command can reach.
type Wall struct {
	// Rules say what can be done with a path. The longest path that contains a file decides; a file that
	// none contains can be read, or does not exist in the tiers that have a file system of their own.
	Rules   []Rule
	Network Network // "" means Open
	Limits  Limits
	Box     Box
	// Thin means that a file that no rule contains can be changed, and that the command keeps what else it
	// shares with the machine. Root says who starts it. Only Bwrap has that.
	Thin, Root bool
}

// Box names what a tier with an engine works with.
type Box struct {
	Name  string // of the container or microVM
	Run   string // the run's ID, by which leftovers are found
	Image string // of a container
	User  string // user and group IDs in a container, as 1000:1000
	Init  bool   // the engine has a program that reaps orphans
}

// Check says why a tier cannot do what a wall demands; nil if it can.
func (t Tier) Check(w Wall) error {
	for _, r := range w.Rules {
		for _, path := range []string{r.Path, r.From} {
			isTarget := r.Access == Link && path == r.From
			isShort := filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsAny(path, "\x00\n")
			if path != "" && !isTarget && !isShort {
				return fmt.Errorf("%q is not an absolute path in its shortest form", path)
			}
		}
	}
	if w.Thin && t != Bwrap {
		return fmt.Errorf("%s has no thin walls", t)
	}
	switch t {
	case None, Bwrap, Seatbelt:
		return nil
	case Sbx:
		if w.Box.Name == "" {
			return errors.New("a microVM needs a name")
		}
		if w.Network == Off {
			return errors.New("the policy of a microVM decides about its network")
		}
		return nil
	case Landlock:
		return checkLandlock(w)
	case Docker:
		if w.Box.Image == "" || w.Box.Name == "" {
			return errors.New("a container needs an image and a name")
		}
		return nil
	}
	return fmt.Errorf("there is no tier %q", t)
}

// Enclose returns the command that starts c behind a wall, for which Check returned nil.
func (t Tier) Enclose(c Command, w Wall) Command {
	w.Rules = ordered(w.Rules)
	switch t {
	case Landlock:
		return encloseLandlock(c, w)
	case Bwrap:
		return encloseBwrap(c, w)
	case Docker:
		return encloseDocker(c, w)
	case Sbx:
		return encloseSbx(c, w)
	case Seatbelt:
		return encloseSeatbelt(c, w)
	}
	return c
}

// ordered returns rules with parents before children. Of several rules for one path the last counts.
func ordered(rules []Rule) []Rule {
	last := make(map[string]Rule, len(rules))
	for _, r := range rules {
		last[r.Path] = r
	}
	all := make([]Rule, 0, len(last))
	for _, r := range last {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// above returns the rule of the nearest folder above a path, and whether there is one.
func above(rules []Rule, path string) (nearest Rule, found bool) {
	for _, r := range rules {
		if r.Path != path && contains(r.Path, path) && len(r.Path) >= len(nearest.Path) {
			nearest, found = r, true
		}
	}
	return nearest, found
}

// contains reports whether a path is a folder or something below it.
func contains(folder, path string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}
