package ignored

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// Watch knows the files of a workspace as they were before the agent started.
type Watch struct {
	// Dir is the workspace.
	Dir string
	// Base lists all of its files at the base, those of the tree included.
	Base List

	file    string // where Base is kept
	settled List   // the files as the last judgement left them; nil if that is not known
}

// Open records the files of a workspace, or reads the record that an earlier process of the run wrote. A record
// always dates from before the agent first ran. earlier is the record of the last run in the workspace, if that
// did not prove its work, and otherwise "": what its agents left in ignored files stays theirs.
func Open(file, dir, earlier string) (*Watch, error) {
	w := &Watch{Dir: dir, file: file}
	base, err := readList(file)
	if err == nil {
		w.Base = base
		w.settled, err = readList(w.settledFile())
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return w, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if w.Base, err = Record(dir, nil); err != nil {
		return nil, err
	}
	if earlier != "" {
		before, err := Open(earlier, dir, "")
		if err != nil {
			return nil, err
		}
		if err := before.AdoptInMemory(); err != nil {
			return nil, err
		}
		w.Base = w.Base.since(before.Base)
	}
	return w, w.Base.write(file)
}

// since returns the list with what was there before in place of what changed since. Dependencies stay as they are
// now, because their lock file may have changed with them.
func (l List) since(before List) List {
	s := sorter{in: Input{Base: before, Now: l}, inTree: map[string]bool{}, isVenv: venvFolders(before, l)}
	for _, f := range l {
		s.inTree[f.Name] = true
	}
	var changed []string
	var old List
	for _, c := range Changes(before, l) {
		if folder, _ := s.dependencyFolder(c.Name); folder != "" {
			continue
		}
		changed = append(changed, c.Name)
		if file, ok := before.Find(c.Name); ok {
			old = append(old, file)
		}
	}
	joined := append(l.Without(changed), old...)
	slices.SortFunc(joined, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return joined
}

func (w *Watch) settledFile() string { return w.file + ".settled" }

// Settle records the files as a judgement left them. What changes until Adopt is not the agent's.
func (w *Watch) Settle() error {
	var err error
	if w.settled, err = Record(w.Dir, nil); err != nil {
		return err
	}
	return w.settled.write(w.settledFile())
}

// Adopt makes everything that changed since Settle part of the base, because no agent was at work.
// Without Settle it does nothing: then it is not known who made the changes.
func (w *Watch) Adopt() error {
	if w.settled == nil {
		return nil
	}
	if err := w.AdoptInMemory(); err != nil {
		return err
	}
	if err := w.Base.write(w.file); err != nil {
		return err
	}
	w.settled = nil // an agent starts to work
	if err := os.Remove(w.settledFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget ignored files: %w", err)
	}
	return nil
}

// AdoptInMemory is Adopt for a process that only looks at a run that has ended.
func (w *Watch) AdoptInMemory() error {
	if w == nil || w.settled == nil {
		return nil
	}
	now, err := Record(w.Dir, nil)
	if err == nil {
		w.Base = Join(w.Base, w.settled, now)
	}
	return err
}

// Identity returns a digest of the list. It changes with the files, unless the system clock is set back.
func (l List) Identity() string {
	sum := sha256.New()
	l.print(sum)
	return hex.EncodeToString(sum.Sum(nil))
}

// print prints one file a line. Names are quoted because they may hold any bytes.
func (l List) print(to io.Writer) {
	for _, f := range l {
		fmt.Fprintf(to, "%d %d %d %d %d %d %q %q\n",
			f.Size, f.Mode, f.Written, f.Changed, f.Inode, f.Links, f.Name, f.Target)
	}
}

// write stores a list.
func (l List) write(file string) error {
	var text bytes.Buffer
	l.print(&text)
	if err := atomicfile.Write(file, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("record ignored files: %w", err)
	}
	return nil
}

func readList(file string) (List, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read recorded files: %w", err)
	}
	list := List{}
	for line := range strings.Lines(string(text)) {
		f, ok := parseLine(strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, fmt.Errorf("read recorded files: line %d of %s is damaged", len(list)+1, file)
		}
		list = append(list, f)
	}
	return list, nil
}

func parseLine(line string) (f File, ok bool) {
	parts := strings.SplitN(line, " ", 7)
	if len(parts) != 7 {
		return f, false
	}
	var numbers [6]int64
	for i := range numbers {
		number, err := strconv.ParseInt(parts[i], 10, 64)
		if unsigned, again := strconv.ParseUint(parts[i], 10, 64); err != nil && again == nil {
			number, err = int64(unsigned), nil // an inode, turned back below
		}
		if err != nil {
			return f, false
		}
		numbers[i] = number
	}
	quoted, err := strconv.QuotedPrefix(parts[6])
	if err != nil {
		return f, false
	}
	name, nameErr := strconv.Unquote(quoted)
	target, targetErr := strconv.Unquote(strings.TrimPrefix(parts[6][len(quoted):], " "))
	return File{
		Name: name, Size: numbers[0], Mode: fs.FileMode(numbers[1]), Written: numbers[2], Changed: numbers[3],
		Inode: uint64(numbers[4]), Links: uint64(numbers[5]), Target: target,
	}, nameErr == nil && targetErr == nil
}
