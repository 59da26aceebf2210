package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

const (
	subfolderDepth = 2 // as in services/api
	subfolderLimit = 8 // projects; a repository with more needs its own choice of checks
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
	for _, folder := range subfolders(root, ".", subfolderDepth) {
		if projects == subfolderLimit {
			break
		}
		checks, reasons := inFolder(filepath.Join(root, folder), wanted)
		if len(checks)+len(reasons) == 0 {
			continue
		}
		projects++
		for _, reason := range reasons {
			untested = append(untested, below(folder, reason))
		}
		for _, c := range checks {
			c.programs = c.needs()
			c.Command = "cd " + process.Words([]string{folder}) + " && " + c.Command
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

// subfolders lists the folders below root that may hold a project, parents first.
func subfolders(root, folder string, depth int) []string {
	if depth == 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return nil // an unreadable folder has no project that we know of
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && !skipped(entry.Name()) && !slices.Contains(notProjects, entry.Name()) {
			names = append(names, filepath.Join(folder, entry.Name()))
		}
	}
	all := names
	for _, name := range names {
		all = append(all, subfolders(root, name, depth-1)...)
	}
	return all
}
