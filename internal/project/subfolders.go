package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/process"
)

const (
	subfolderDepth = 2 // as in services/api
	subfolderLimit = 8 // projects; a repository with more needs its own choice of checks
	folderLimit    = 500
)

// notProjects are folders whose projects are not the product.
var notProjects = []string{
	"example", "examples", "fixtures", "templates", "third_party", "docs", "target", "dist", "build",
}

// inSubfolders lists the checks of the projects below the root, as in a monorepo. A language that
// has tests at the root is skipped: those usually cover the folders below.
func inSubfolders(root string, atRoot []candidate) (found []candidate, untested []string) {
	wanted := func(l language) bool {
		return !slices.ContainsFunc(atRoot, func(c candidate) bool { return c.language == l.name && c.Kind == KindTest })
	}
	projects := 0
	for _, folder := range subfolders(root) {
		checks, reasons := inFolder(filepath.Join(root, folder), wanted)
		if len(checks)+len(reasons) == 0 {
			continue
		}
		if projects++; projects > subfolderLimit {
			reason := fmt.Sprintf("found more than %d projects in subfolders; the rest is not checked", subfolderLimit)
			return found, append(untested, reason)
		}
		for _, reason := range reasons {
			untested = append(untested, below(folder, reason))
		}
		for _, c := range checks {
			c.programs = c.needs()
			// With ./ no name is an option of cd, and CDPATH leads nowhere else.
			c.Command = "cd " + process.Words([]string{"./" + folder}) + " && " + c.Command
			c.Because = below(folder, c.Because)
			found = append(found, c)
		}
	}
	return found, untested
}

// below names the folder of the file in a reason such as "found go.mod".
func below(folder, because string) string {
	return strings.Replace(because, "found ", "found "+folder+"/", 1)
}

// subfolders lists the folders below root that may hold a project, one level after the other.
func subfolders(root string) []string {
	all, level := []string{}, []string{""}
	for range subfolderDepth {
		var next []string
		for _, folder := range level {
			entries, _ := os.ReadDir(filepath.Join(root, folder)) // an unreadable folder has no project that we know of
			for _, entry := range entries {
				if entry.IsDir() && mayHoldProject(entry.Name()) {
					next = append(next, filepath.Join(folder, entry.Name()))
				}
			}
		}
		if all = append(all, next...); len(all) > folderLimit {
			return all[:folderLimit]
		}
		level = next
	}
	return all
}

// mayHoldProject leaves out folders that are not the product, and names that a line of a log or of a configuration
// cannot hold.
func mayHoldProject(name string) bool {
	return !skipped(name) && !slices.Contains(notProjects, name) && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, unicode.IsControl)
}
