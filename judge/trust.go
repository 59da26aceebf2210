package judge

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// SinceLastRun is what happened to the files of a workspace after a run ended, and before the next one began. Only
// the user works then.
type SinceLastRun struct {
	Untrusted []ralph.FileChange // from the trusted tree to the workspace
	// IsLeft says whether it is known how the run left the workspace. If it is not, an agent may have made the changes
	// and commits since.
	IsLeft    bool
	Changed   []string            // files that differ from what the run left
	Committed []string            // files that commits since then changed
	Rewritten bool                // HEAD no longer leads to the commit that the run left
	IsInHead  func(c string) bool // whether the file is in the workspace as in HEAD; nil if nothing was committed
	Accepted  []string            // files and folders that the user has accepted since
}

// Users returns the files that join the trusted tree as they are in the workspace: the user changed, committed or
// accepted them. A checkout, pull, rebase or reset that leaves the run's commits behind makes HEAD the user's.
func (s SinceLastRun) Users() []string {
	changed, committed := asSet(s.Changed), asSet(s.Committed)
	var names []string
	for _, c := range s.Untrusted {
		isCommitted := (s.Rewritten || committed[c.Name]) && s.IsInHead != nil && s.IsInHead(c.Name)
		if s.IsLeft && (changed[c.Name] || isCommitted) || IsAccepted(s.Accepted, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// NewWorktree is what is known about the files of a worktree that was just made of a workspace.
type NewWorktree struct {
	Untrusted    []ralph.FileChange // from the trusted tree of the workspace to the worktree
	ByAgents     []string           // files that commits of the last run, or since its start, changed
	Committed    []string           // files that commits since the last run changed
	IsHeldBack   func(name string) bool
	AreCommitted bool // HEAD no longer leads to the commits of the run
}

// Users returns the files that are the user's as the worktree has them. It has only what was committed, so what
// happened in the workspace without a commit says nothing about it.
func (w NewWorktree) Users() []string {
	byAgents, committed := asSet(w.ByAgents), asSet(w.Committed)
	var names []string
	for _, c := range w.Untrusted {
		isAgents := byAgents[c.Name] || c.Kind != ralph.FileDeleted && w.IsHeldBack(c.Name)
		if !isAgents || committed[c.Name] || w.AreCommitted {
			names = append(names, c.Name)
		}
	}
	return names
}

// IsAccepted reports whether a file, or a folder above it, is among the names that a person accepted.
func IsAccepted(accepted []string, name string) bool {
	return slices.ContainsFunc(accepted, func(yes string) bool {
		return yes == "." || yes == name || strings.HasPrefix(name, yes+"/")
	})
}

// RunEnd is how a run ended, as far as it matters for the trusted tree.
type RunEnd struct {
	Proof    ralph.ProofWord // "" unless the run completed
	Accepted string          // the snapshot that a person accepted, "" if there is none
}

// TrustedAfter returns the snapshot that a person trusts after a run, and whether files that agents must not
// hand on stay as they were at the base. A person who accepts work accepts all of it.
func TrustedAfter(h History, end RunEnd) (snapshot string, holdsBack bool) {
	judged := h.Now.Tree.Clone()
	switch end.Proof {
	case ralph.ProvenAccepted:
		if end.Accepted != "" {
			return end.Accepted, false
		}
		fallthrough // a person accepted some of the tasks, in an earlier process
	case ralph.ProvenShown, ralph.ProvenWorkspace, ralph.ProvenUnbroken:
		if judged != "" {
			return judged, true
		}
	}
	if h.LastProvenTree != "" { // tasks that are proven stay proven
		return h.LastProvenTree, true
	}
	return h.Base.Snapshot, false
}

func asSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
