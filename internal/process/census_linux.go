package process

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// census is a list of all processes and of the trees that they may belong to.
type census struct {
	self, session int
	processes     map[int]*inside.Process
	trees         []*tree
	owning        bool  // OwnOrphans was called
	fallback      *tree // the tree of processes that outlived their own
	families      map[int]family
}

// family is the origin of a process.
type family struct {
	tree *tree
	ours bool // a descendant of this process
}

func takeCensus(heir *tree) (*census, error) {
	all, err := inside.Processes()
	if err != nil {
		return nil, err
	}
	session, _ := unix.Getsid(0)
	return &census{
		self:      os.Getpid(),
		session:   session,
		processes: all,
		trees:     trees.all(),
		owning:    ownsOrphans.Load(),
		fallback:  heir,
		families:  make(map[int]family, len(all)),
	}, nil
}

// owner returns the tree that a process belongs to, or nil.
func (c *census) owner(p *inside.Process) *tree { return c.family(p).tree }

func (c *census) family(p *inside.Process) family {
	if f, ok := c.families[p.PID]; ok {
		return f
	}
	// A process ID that was reused while we read could form a cycle: this entry ends it.
	c.families[p.PID] = family{}
	f := c.trace(p)
	c.families[p.PID] = f
	return f
}

func (c *census) trace(p *inside.Process) family {
	// The main process of a tree leads a separate session, and a session cannot be entered from
	// outside: processes in our session, or in that of a companion, were not started by a tree.
	if p.PID == c.self || p.Session == c.session {
		return family{}
	}
	if t := c.mainOf(p); t != nil {
		return family{tree: t, ours: true}
	}
	if c.isCompanion(p) {
		return family{}
	}
	f := family{ours: p.Parent == c.self}
	if parent := c.processes[p.Parent]; parent != nil && !f.ours {
		if f = c.family(parent); f.tree != nil {
			return f
		}
	}
	f.tree = c.findTree(p, f.ours)
	return f
}

// isCompanion reports whether Accompany started a process. If the process is gone, a tree may have got the
// number of its session.
func (c *census) isCompanion(p *inside.Process) bool {
	companions.mu.Lock()
	defer companions.mu.Unlock()
	return slices.Contains(companions.sessions, p.Session) &&
		!slices.ContainsFunc(c.trees, func(t *tree) bool { return t.leads(p.Session) })
}

// groupsOf returns the process groups that belong to a tree alone, including those with only dead
// members.
func (c *census) groupsOf(t *tree) []int {
	alone := make(map[int]bool)
	for _, p := range c.processes {
		whole, known := alone[p.Group]
		alone[p.Group] = c.owner(p) == t && (whole || !known)
	}
	var groups []int
	for group, whole := range alone {
		// 0 would mean our own group, and 1 every process.
		if whole && group > 1 {
			groups = append(groups, group)
		}
	}
	return groups
}

// mainOf returns the tree whose main process is p, or nil.
func (c *census) mainOf(p *inside.Process) *tree {
	for _, t := range c.trees {
		if t.pid == p.PID && !t.reaped.Load() {
			return t
		}
	}
	return nil
}

func (c *census) isMain(p *inside.Process) bool { return c.mainOf(p) != nil }

// findTree finds the tree of a process that has lost its ancestors.
func (c *census) findTree(p *inside.Process, ours bool) *tree {
	var possible []*tree
	for _, t := range c.trees {
		if t.since > p.Start {
			continue
		}
		if t.leads(p.Session) || t.leads(p.Group) {
			return t
		}
		possible = append(possible, t)
	}
	if c.owning && !ours {
		return nil
	}
	if len(possible) > 0 {
		token, _ := environEntry(p.PID, tokenVariable)
		for _, t := range possible {
			if t.token == token {
				return t
			}
		}
	}
	switch {
	case c.owning && len(possible) == 1:
		return possible[0]
	case c.owning && len(possible) == 0:
		return c.fallback
	}
	return nil
}
