package process

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// census is a list of all processes and of the trees that they may belong to.
type census struct {
	self, session int
	processes     map[int]*procStat
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
	all, err := processes()
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
func (c *census) owner(p *procStat) *tree { return c.family(p).tree }

func (c *census) family(p *procStat) family {
	if f, ok := c.families[p.pid]; ok {
		return f
	}
	// A process ID that was reused while we read could form a cycle: this entry ends it.
	c.families[p.pid] = family{}
	f := c.trace(p)
	c.families[p.pid] = f
	return f
}

func (c *census) trace(p *procStat) family {
	// The main process of a tree leads a separate session, and a session cannot be entered from
	// outside: processes in our session, or in that of a companion, were not started by a tree.
	if p.pid == c.self || p.session == c.session {
		return family{}
	}
	if t := c.mainOf(p); t != nil {
		return family{tree: t, ours: true}
	}
	if c.isCompanion(p) {
		return family{}
	}
	f := family{ours: p.parent == c.self}
	if parent := c.processes[p.parent]; parent != nil && !f.ours {
		if f = c.family(parent); f.tree != nil {
			return f
		}
	}
	f.tree = c.findTree(p, f.ours)
	return f
}

// isCompanion reports whether Accompany started a process. If the process is gone, a tree may have got the
// number of its session.
func (c *census) isCompanion(p *procStat) bool {
	companions.mu.Lock()
	defer companions.mu.Unlock()
	return slices.Contains(companions.sessions, p.session) &&
		!slices.ContainsFunc(c.trees, func(t *tree) bool { return t.pid == p.session })
}

// groupsOf returns the process groups that belong to a tree alone, including those with only dead
// members.
func (c *census) groupsOf(t *tree) []int {
	alone := make(map[int]bool)
	for _, p := range c.processes {
		whole, known := alone[p.group]
		alone[p.group] = c.owner(p) == t && (whole || !known)
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
func (c *census) mainOf(p *procStat) *tree {
	for _, t := range c.trees {
		if t.pid == p.pid && !t.reaped.Load() {
			return t
		}
	}
	return nil
}

func (c *census) isMain(p *procStat) bool { return c.mainOf(p) != nil }

// findTree finds the tree of a process that has lost its ancestors.
func (c *census) findTree(p *procStat, ours bool) *tree {
	var possible []*tree
	for _, t := range c.trees {
		if t.since > p.start {
			continue
		}
		if p.session == t.pid || p.group == t.pid {
			return t
		}
		possible = append(possible, t)
	}
	if c.owning && !ours {
		return nil
	}
	if len(possible) > 0 {
		token, _ := environEntry(p.pid, tokenVariable)
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
