package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/inputs"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// Ground is what views are made of: a checkout of the base, and the user's ignored files. An agent can reach neither.
// Several examiners may share one.
type Ground struct {
	Checkouts ralph.Checkouts
	// Folder holds the checkout, which stays there for later runs.
	Folder string
	// Inputs are the ignored files.
	Inputs *inputs.Inputs
	// Setup is a command that installs dependencies again in views, or builds what they lack; "" shows those of the user.
	Setup string

	mu     sync.Mutex
	made   *ralph.Checkout
	frozen map[inputs.Layer]frozenLayer
	looked lookedAt
}

type frozenLayer struct {
	dir   string
	large []string
}

// lookedAt is what is known about the ignored files beside a tree.
type lookedAt struct {
	now    string // the snapshot of the tree; "" if nothing is known
	sorted inputs.Sorted
}

// layers returns what a view shows below its edits, and the snapshot that the edits begin from.
func (g *Ground) layers(ctx context.Context, in ralph.ViewInput) (o pristine.Options, from string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	made, err := g.checkout(ctx, in)
	if err != nil {
		return o, "", err
	}
	o = pristine.Options{Dir: in.Dir, Top: made.Top, Layers: []string{made.Dir}}
	needed := []inputs.Layer{inputs.Needed}
	if in.Access == ralph.AccessIgnored {
		needed = append(needed, inputs.Rest)
	}
	for _, layer := range needed {
		frozen, err := g.freeze(ctx, layer)
		if err != nil {
			return o, "", err
		}
		o.Layers = append(o.Layers, frozen.dir)
		for _, name := range frozen.large {
			o.Live = append(o.Live, g.live(name))
		}
	}
	if ofClaim(in.Kind) && g.Setup == "" && g.looked.now == in.Now.Clone() {
		for _, name := range g.looked.sorted.Installed {
			if live := g.live(name); !slices.Contains(o.Live, live) {
				o.Live = append(o.Live, live)
			}
		}
	}
	return o, made.Snapshot, nil
}

func (g *Ground) live(name string) pristine.LiveFolder {
	return pristine.LiveFolder{Name: name, Source: filepath.Join(g.Inputs.Top, filepath.FromSlash(name))}
}

// ofClaim reports whether a view has the product of the claim.
func ofClaim(kind ralph.ViewKind) bool {
	switch kind {
	case ralph.ViewBase, ralph.ViewGiven, ralph.ViewHiddenBase, ralph.ViewNewTests:
		return false
	}
	return true
}

// checkout makes the checkout of the base, or takes the one that is there. Before any agent works, it gets the
// repository's history of that moment.
func (g *Ground) checkout(ctx context.Context, in ralph.ViewInput) (*ralph.Checkout, error) {
	if g.made != nil {
		return g.made, nil
	}
	ask := ralph.CheckoutInput{Files: in.Base.Snapshot, Folder: g.Folder}
	if in.Iteration == 0 {
		ask.History = in.Now.Snapshot
	}
	made, err := g.Checkouts.Checkout(ctx, ask)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	g.made = &made
	return g.made, nil
}

// freeze copies ignored files of the user, once per process.
func (g *Ground) freeze(ctx context.Context, layer inputs.Layer) (frozenLayer, error) {
	if known, ok := g.frozen[layer]; ok {
		return known, nil
	}
	tree, err := g.Checkouts.AllFiles(ctx, g.made.Snapshot)
	if err != nil {
		return frozenLayer{}, err
	}
	dir, large, err := g.Inputs.Freeze(layer, tree)
	if err != nil {
		return frozenLayer{}, fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	if g.frozen == nil {
		g.frozen = map[inputs.Layer]frozenLayer{}
	}
	g.frozen[layer] = frozenLayer{dir, large}
	return g.frozen[layer], nil
}

// look finds out what changes of ignored files mean.
func (g *Ground) look(ctx context.Context, found classifiedChanges) (inputs.Sorted, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tree, err := g.Checkouts.AllFiles(ctx, found.now)
	if err != nil {
		return inputs.Sorted{}, err
	}
	prefix := g.prefix()
	var changes []ralph.FileChange
	for _, c := range found.all {
		changes = append(changes, ralph.FileChange{Name: prefix + c.Name, Kind: c.Kind})
	}
	sorted, err := g.Inputs.Compare(tree, changes)
	if err != nil {
		return sorted, fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	for _, name := range sorted.Installed { // something to mount it on
		if needed, ok := g.frozen[inputs.Needed]; ok {
			if err := os.MkdirAll(filepath.Join(needed.dir, filepath.FromSlash(name)), 0o755); err != nil {
				return sorted, fmt.Errorf("%w: %w", ralph.ErrIO, err)
			}
		}
	}
	g.looked = lookedAt{found.now, sorted}
	return sorted, nil
}

func (g *Ground) prefix() string {
	if g.made == nil {
		return ""
	}
	return g.made.Prefix
}

// compare adds to a comparison what happened to ignored files.
func (g *Ground) compare(ctx context.Context, found classifiedChanges, seen *ralph.Tampering) error {
	sorted, err := g.look(ctx, found)
	if err != nil {
		return err
	}
	seen.LeftOut = changeNames(sorted.LeftOut)
	g.mu.Lock()
	large := g.frozen[inputs.Needed].large
	g.mu.Unlock()
	for _, c := range sorted.Edited {
		if slices.ContainsFunc(large, func(folder string) bool { return strings.HasPrefix(c.Name, folder+"/") }) {
			seen.Environment = append(seen.Environment, c.String())
		}
	}
	if g.Setup == "" {
		seen.Dependencies = sorted.Installed
	}
	return nil
}

// setsUp reports whether the setup command runs in a view: where the check needs files that a clone lacks, or the
// agent changed some.
func (g *Ground) setsUp(in ralph.ViewInput) bool {
	if g == nil || g.Setup == "" || in.Access == ralph.AccessFolder {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := len(g.looked.sorted.Installed)+len(g.looked.sorted.LeftOut) > 0
	return in.Access == ralph.AccessIgnored || in.Now.Cloned != "" || g.looked.now == in.Now.Clone() && changed
}

// identity identifies the ignored files that a view shows.
func (g *Ground) identity(ctx context.Context, in ralph.ViewInput) (string, error) {
	if _, _, err := g.layers(ctx, in); err != nil {
		return "", err
	}
	tree, err := g.Checkouts.AllFiles(ctx, in.Now.Clone())
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	id := g.Inputs.Identity(inputs.Needed, tree)
	if in.Access == ralph.AccessIgnored {
		id += g.Inputs.Identity(inputs.Rest, tree)
	}
	return id, nil
}

// SettleIgnored implements [ralph.IgnoredWatcher].
func (e *Examiner) SettleIgnored() error {
	if e.Ground == nil {
		return nil
	}
	return e.Ground.Inputs.End()
}

// AdoptIgnored implements [ralph.IgnoredWatcher].
func (e *Examiner) AdoptIgnored() error {
	g := e.Ground
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.frozen, g.looked = nil, lookedAt{}
	return g.Inputs.Begin()
}

// linksOut describes the added and changed symbolic links that lead out of the workspace. A commit
// has only the link, not what it leads to.
func (e *Examiner) linksOut(changes []ralph.FileChange) []string {
	var lines []string
	for _, c := range changes {
		path := filepath.Join(e.Dir, filepath.FromSlash(c.Name))
		target, err := os.Readlink(path)
		if c.Kind == ralph.FileDeleted || err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(resolveLinks(filepath.Dir(path)), target)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			target = real
		}
		isOut := !isInside(target, e.Dir) && !isInside(target, resolveLinks(e.Dir))
		if isOut || slices.Contains(strings.Split(filepath.ToSlash(target), "/"), ".git") {
			lines = append(lines, fmt.Sprintf("%s (a link to %s, which is not part of the tree)", c.Name, target))
		}
	}
	return lines
}

// errNoGround means that a view cannot be made of a clone, because no snapshots are kept.
var errNoGround = errors.New("no snapshots are kept to make a view of")
