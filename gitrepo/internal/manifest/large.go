package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// Hashes are the digests of files that are too large for a snapshot, or otherwise left out, by name.
// With them a snapshot can tell that such a file changed.
type Hashes map[string]string

// Hasher hashes files that were left out. It reads a file again only if it may have changed.
type Hasher struct{ known map[string]hashed }

type hashed struct {
	look   scan.Stamp
	digest string
}

// Hash returns the digests of the files that were left out. It forgets all others.
func (h *Hasher) Hash(top *os.Root, left []LeftOut) Hashes {
	next, all := map[string]hashed{}, Hashes{}
	for _, file := range left {
		info, err := top.Lstat(filepath.FromSlash(file.Name))
		if file.nothing || err != nil {
			continue
		}
		look := scan.StampOf(info)
		seen := h.known[file.Name]
		if seen.look != look || seen.digest == "" {
			seen = hashed{digest: digestOf(top, file.Name, look)}
			if time.Since(time.Unix(0, max(look.Written, look.Changed))) > scan.Settled {
				seen.look = look
			}
		}
		next[file.Name], all[file.Name] = seen, seen.digest
	}
	h.known = next
	return all
}

// digestOf hashes a file. Of a file that cannot be read it hashes what the system says about it.
func digestOf(top *os.Root, name string, look scan.Stamp) string {
	sum := sha256.New()
	file, ok := scan.Open(top, name)
	if ok {
		defer file.Close()
		if _, err := io.Copy(sum, file); err == nil {
			return hex.EncodeToString(sum.Sum(nil))
		}
	}
	fmt.Fprintf(sum, "unreadable %+v", look)
	return hex.EncodeToString(sum.Sum(nil))
}

// String returns a line for each file, with its digest and its quoted name.
func (h Hashes) String() string {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&lines, "\nleft %s %s", h[name], strconv.Quote(name))
	}
	return lines.String()
}

// Parse adds the file of a line that String wrote, without its first word.
func (h *Hashes) Parse(rest string) {
	digest, quoted, _ := strings.Cut(rest, " ")
	if name, err := strconv.Unquote(quoted); err == nil {
		if *h == nil {
			*h = Hashes{}
		}
		(*h)[name] = digest
	}
}

// Below returns the files below a prefix, named relative to it.
func (h Hashes) Below(prefix string) Hashes {
	below := Hashes{}
	for name, digest := range h {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			below[rest] = digest
		}
	}
	return below
}

// Joined returns the hashes with what changed between two others.
func (h Hashes) Joined(from, to Hashes) Hashes {
	joined := maps.Clone(h)
	if joined == nil {
		joined = Hashes{}
	}
	for name := range from {
		if _, stays := to[name]; !stays {
			delete(joined, name)
		}
	}
	for name, digest := range to {
		if from[name] != digest {
			joined[name] = digest
		}
	}
	return joined
}

// WithHashes returns how two snapshots differ if files that were left out count by their digests.
// The contents of these files are not in a snapshot, or only in an older version.
func WithHashes(edits []Edit, before, after Side) []Edit {
	if len(before.Left)+len(after.Left) == 0 {
		return edits
	}
	isLeft := func(name string) bool { return before.Left[name] != "" || after.Left[name] != "" }
	all := slices.DeleteFunc(slices.Clone(edits), func(e Edit) bool { return isLeft(e.Name) })
	names := maps.Clone(before.Left)
	if names == nil {
		names = Hashes{}
	}
	maps.Copy(names, after.Left)
	for name := range names {
		if e := (Edit{name, before.entry(name), after.entry(name)}); e.Before != e.After {
			all = append(all, e)
		}
	}
	SortEdits(all)
	return all
}

// Side is one of two snapshots that are compared.
type Side struct {
	Files []Entry // sorted by name
	Left  Hashes
}

func (s Side) entry(name string) Entry {
	if digest := s.Left[name]; digest != "" {
		return Entry{Mode: ModeFile, ID: "left " + digest, Name: name}
	}
	if file, there := Find(s.Files, name); there {
		return file
	}
	return Entry{Mode: ModeNone}
}

// With returns the digests with these files as in another snapshot.
func (h Hashes) With(other Hashes, names []string) Hashes {
	next := Hashes{}
	maps.Copy(next, h)
	for _, name := range names {
		delete(next, name)
		if digest, ok := other[name]; ok {
			next[name] = digest
		}
	}
	return next
}
