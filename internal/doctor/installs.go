package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/install"
)

// installs says for each agent CLI on this machine whether Ralph is installed in it. No run needs that.
func (x Examination) installs(agents []Finding) []Finding {
	var findings []Finding
	for _, f := range agents {
		if f.Agent != nil && slices.Contains(install.Agents, f.Agent.Name) && x.Env.Home != "" {
			findings = append(findings, x.install(f.Agent.Name))
		}
	}
	return findings
}

func (x Examination) install(agent string) Finding {
	f := Finding{What: "goals in " + agent, State: OK}
	var found []string
	for _, place := range []struct{ name, project, program, flag string }{
		{"for you", "", x.Program, ""}, {"in this project", x.Workspace.Dir, "", " --project"},
	} {
		if place.project == x.Env.Home { // the same files
			continue
		}
		at := install.Place{
			Agent: agent, Project: place.project, Home: x.Env.Home, State: x.Env.StateDir, Program: place.program,
			Lookup: x.Env.Lookup,
		}
		switch state, err := at.Status(); state {
		case install.Current:
			found = append(found, "installed "+place.name+", current")
		case install.Plugin:
			found = append(found, "installed "+place.name+" as a plugin")
		case install.Outdated:
			f.State = Note
			found = append(found, fmt.Sprintf("installed %s, outdated: ralph install %s%s", place.name, agent, place.flag))
		case install.Unclear:
			f.State = Note
			found = append(found, err.Error())
		}
	}
	if f.Detail = strings.Join(found, "; "); f.Detail == "" {
		f.State, f.Detail = Note, "not installed: ralph install "+agent
	}
	return f
}
