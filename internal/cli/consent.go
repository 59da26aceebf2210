package cli

import (
	"bufio"
	"context"
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

// consentByFlag is how a user consents where Ralph cannot ask.
const consentByFlag = "read them, then pass --trust (or set RALPH_TRUST=1), or run once on a terminal"

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
	if !mayAsk(a) {
		return usage("this project defines %s you have not trusted yet:%s\n"+
			consentByFlag, defines, list.String())
	}
	fmt.Fprintf(a.errLines(), "This project defines %s:%s\n", defines, list.String())
	if !answersYes(a, "Trust them in this workspace from now on? [y/N] ") {
		return usage("not trusted; nothing was started")
	}
	for _, digest := range digests {
		if err := store.Grant(id, digest, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// agreeToGit asks once for consent to the programs that git starts for files of the workspace, such as
// Git LFS, and to sign commits. Without it, Ralph's git starts none of them and takes files as they are.
func agreeToGit(ctx context.Context, a *app, home workspace.Workspace, settings config.Settings) error {
	commits := settings.Commit != "" && settings.Commit != "off" || settings.Worktree != ""
	programs, err := home.UnagreedPrograms(ctx, commits)
	if len(programs.Commands) == 0 || err != nil {
		return err
	}
	var list strings.Builder
	for _, command := range programs.Commands {
		fmt.Fprintf(&list, "\n  %s", command)
	}
	agreed := settings.Trust
	if !agreed && mayAsk(a) {
		fmt.Fprintf(a.errLines(), "Git would start programs for files of this project:%s\n", list.String())
		agreed = answersYes(a, "Let Ralph's git start them in this repository from now on? [y/N] ")
	}
	if agreed {
		return programs.Agree(a.streams.Env, time.Now())
	}
	fmt.Fprintf(a.errLines(), "ralph: warning: without your consent, Ralph's git does not start these programs "+
		"and takes files as they are:%s\nto agree, pass --trust (or set RALPH_TRUST=1), or run once on a terminal\n",
		list.String())
	return nil
}

// mayAsk reports whether there is a user to ask.
func mayAsk(a *app) bool { return a.streams.InTerm && !a.globals.quiet && !a.streams.Env.CI }

func answersYes(a *app, question string) bool {
	fmt.Fprint(a.streams.Err, question)
	answer, _ := bufio.NewReader(a.streams.In).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(answer))
	return word == "y" || word == "yes"
}

// trustGiven reports whether the call itself gives consent, with --trust or RALPH_TRUST=1.
func (a *app) trustGiven() bool {
	loaded, err := config.Load(config.Input{Env: a.streams.Env})
	return a.globals.trust || err == nil && loaded.Settings.Trust
}
