package cli

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// agree asks once for consent to the commands that the repository defines. The configuration, the
// agents' own files and the task list are separate groups. A task list changes far more often, and
// neither a new task nor another agent should ask for the checks again.
func (a *app) agree(workspace workspace.Workspace, loaded config.Loaded, tasks, files []config.NamedCommand) error {
	if loaded.Settings.Trust {
		return nil
	}
	return a.consent(workspace, loaded.ProjectCommands, files, tasks)
}

// consent asks about the groups of commands that the user has not trusted yet.
func (a *app) consent(workspace workspace.Workspace, groups ...[]config.NamedCommand) error {
	store, id := trust.In(a.streams.Env.StateDir), runlog.WorkspaceID(workspace.Dir)
	var digests []string
	var list strings.Builder
	var named, weak bool
	for _, commands := range groups {
		if len(commands) == 0 {
			continue
		}
		digest := trust.Digest(commands)
		agreed, err := store.Trusted(id, digest)
		if err != nil {
			return err
		}
		if agreed {
			continue
		}
		digests = append(digests, digest)
		for _, c := range commands {
			fmt.Fprintf(&list, "\n  %s", c)
			named, weak = named || !c.Weak, weak || c.Weak
		}
	}
	if len(digests) == 0 {
		return nil
	}
	defines := "commands"
	switch {
	case named && weak:
		defines = "commands and weaker gates"
	case weak:
		defines = "weaker gates"
	}
	if !a.streams.InTerm || a.globals.quiet || a.streams.Env.CI {
		return usage("this project defines %s you have not trusted yet:%s\n"+
			"read them, then pass --trust (or set RALPH_TRUST=1), or run once on a terminal", defines, list.String())
	}
	fmt.Fprintf(a.errLines(), "This project defines %s:%s\n", defines, list.String())
	fmt.Fprint(a.streams.Err, "Trust them in this workspace from now on? [y/N] ")
	answer, _ := bufio.NewReader(a.streams.In).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return usage("not trusted; nothing was started")
	}
	for _, digest := range digests {
		if err := store.Grant(id, digest, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// trustGiven reports whether the call itself gives consent, with --trust or RALPH_TRUST=1.
func (a *app) trustGiven() bool {
	loaded, err := config.Load(config.Input{Env: a.streams.Env})
	return a.globals.trust || err == nil && loaded.Settings.Trust
}
