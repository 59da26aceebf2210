package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
)

// colorPatch colors a patch the way git does.
func colorPatch(patch string, style term.Style) string {
	inFile := false
	return strings.Join(text.Mapped(strings.Split(patch, "\n"), func(line string) string {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			inFile = true
			return style.Bold(line)
		case !inFile:
			return line
		case strings.HasPrefix(line, "@@"):
			return style.Cyan(line)
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "index "):
			return style.Bold(line)
		case strings.HasPrefix(line, "+"):
			return style.Green(line)
		case strings.HasPrefix(line, "-"):
			return style.Red(line)
		}
		return line
	}), "\n")
}

// changedFile is a file of a patch, with its numbers of added and deleted lines.
type changedFile struct {
	name           string
	added, deleted int
	binary         bool
}

// changedFiles counts the changed lines of each file in a patch.
func changedFiles(patch string) []changedFile {
	var files []changedFile
	inHunk := false
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		if names, found := strings.CutPrefix(line, "diff --git "); found {
			files, inHunk = append(files, changedFile{name: patchedName(names)}), false
			continue
		}
		if len(files) == 0 {
			continue // the list of names that comes before the patch
		}
		file := &files[len(files)-1]
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
			file.binary = file.binary || strings.HasPrefix(line, "Binary files ")
		case strings.HasPrefix(line, "+"):
			file.added++
		case strings.HasPrefix(line, "-"):
			file.deleted++
		}
	}
	return files
}

// patchedName extracts the name from "a/NAME b/NAME". Both names are the same, because renames are
// not followed.
func patchedName(names string) string {
	half := names[(len(names)+1)/2:]
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(half, `"`), "b/"), `"`)
}

// patchOf returns the parts of a patch about some files, at most as much as fits on a screen or two.
func patchOf(patch string, files []string) string {
	const longest = 60
	var lines []string
	wanted := false
	for _, line := range strings.Split(patch, "\n") {
		if names, found := strings.CutPrefix(line, "diff --git "); found {
			wanted = slices.Contains(files, patchedName(names))
		}
		if wanted {
			lines = append(lines, line)
		}
	}
	if len(lines) > longest {
		lines = append(lines[:longest], fmt.Sprintf("… and %s: ralph diff", text.Count(len(lines)-longest, "more line")))
	}
	return strings.Join(lines, "\n")
}

// diffStat summarizes a patch, one line per file.
func diffStat(patch string, style term.Style) string {
	files := changedFiles(patch)
	widest, added, deleted := 0, 0, 0
	for _, f := range files {
		widest = max(widest, text.Width(f.name))
	}
	var out strings.Builder
	for _, f := range files {
		lines := style.Green(fmt.Sprintf("+%d", f.added)) + " " + style.Red(fmt.Sprintf("-%d", f.deleted))
		if f.binary {
			lines = "binary"
		}
		fmt.Fprintf(&out, " %s%s | %s\n", term.Clean(f.name), strings.Repeat(" ", widest-text.Width(f.name)), lines)
		added, deleted = added+f.added, deleted+f.deleted
	}
	if len(files) > 0 {
		fmt.Fprintf(&out, " %s changed, %s added, %s deleted\n",
			text.Count(len(files), "file"), text.Count(added, "line"), text.Count(deleted, "line"))
	}
	return out.String()
}
