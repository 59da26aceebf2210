package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// agree asks once for consent to the commands that the repository defines. The configuration, the
// agents' own files and the task list are separate groups. A task list changes far more often, and
// neither a new task nor another agent should ask for the checks again.
func (a *app) agree(home workspace.Workspace, loaded config.Loaded, tasks, files []config.NamedCommand) error {
	if loaded.Settings.Trust {
		return nil
	}
	return a.consent(home, commandGroup{trust.Project, loaded.ProjectCommands}, commandGroup{trust.AgentFiles, files},
		commandGroup{trust.Tasks, tasks})
}

// commandGroup is what the user agrees to at once.
type commandGroup struct {
	kind     trust.Kind
	commands []config.NamedCommand
}

// howToAgree says how a person consents where Ralph cannot ask. An agent chooses flags and variables, so it is not told
// about these.
func howToAgree(byAgent bool) string {
	if byAgent {
		return "call ralph once on a terminal outside of the session"
	}
	return "pass --trust (or set RALPH_TRUST=1), or run once on a terminal"
}

// consent asks about the groups of commands that the user has not trusted yet. An agent that calls Ralph must not
// choose among those which the user ever trusted: for it, only the newest consent counts.
func (a *app) consent(home workspace.Workspace, groups ...commandGroup) error {
	store, id := trust.In(a.streams.Env.StateDir), runlog.WorkspaceID(home.Dir)
	byAgent := sync.OnceValue(func() bool { return agentCalls(a, home) })
	var ask []commandGroup
	for _, group := range groups {
		digest := trust.Digest(group.commands)
		newest, err := store.Newest(id, group.kind)
		none := len(group.commands) == 0
		if none && err != nil && !byAgent() { // there is nothing to agree to
			continue
		}
		if err != nil {
			return err
		}
		if newest == digest || none && (newest == "" || group.kind != trust.Project) {
			continue
		}
		agreed := none
		if !none {
			if agreed, err = store.Trusted(id, digest); err != nil {
				return err
			}
		}
		switch {
		case !agreed:
			ask = append(ask, group)
		case byAgent():
			return usage("this project does not define the commands that you trusted last, but these:%s\nread them, then %s",
				cmp.Or(commandLines(group.commands), "\n  none"), howToAgree(true))
		default:
			if err := store.Grant(id, group.kind, digest, time.Now()); err != nil {
				return err
			}
		}
	}
	if len(ask) == 0 {
		return nil
	}
	if err := askAbout(a, ask, byAgent()); err != nil {
		return err
	}
	for _, group := range ask {
		if err := store.Grant(id, group.kind, trust.Digest(group.commands), time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// askAbout shows commands to the user, and returns nil if the user agrees.
func askAbout(a *app, groups []commandGroup, byAgent bool) error {
	var all []config.NamedCommand
	named, weak := false, false
	for _, group := range groups {
		for _, c := range group.commands {
			all = append(all, c)
			named, weak = named || !c.Weak, weak || c.Weak
		}
	}
	defines := "commands"
	switch {
	case named && weak:
		defines = "commands and weaker gates"
	case weak:
		defines = "weaker gates"
	}
	if byAgent || !mayAsk(a) {
		return usage("this project defines %s you have not trusted yet:%s\nread them, then %s",
			defines, commandLines(all), howToAgree(byAgent))
	}
	fmt.Fprintf(a.errLines(), "This project defines %s:%s\n", defines, commandLines(all))
	if !answersYes(a, "Trust them in this workspace from now on? [y/N] ") {
		return usage("not trusted; nothing was started")
	}
	return nil
}

// commandLines returns commands for a message, each on a line of its own.
func commandLines(commands []config.NamedCommand) string {
	return strings.Join(text.Mapped(commands, func(c config.NamedCommand) string { return "\n  " + c.String() }), "")
}

// agentCalls reports whether an agent called this command: in a run, in a live session, or in a conversation that
// ralph take opened.
func agentCalls(a *app, home workspace.Workspace) bool {
	line := a.streams.ancestors()
	if a.streams.Env.InsideRun != "" || sessionAgent(a.streams.Env, line, nil) != "" {
		return true
	}
	store, err := a.storeOf(home)
	if err != nil { // other code says what is wrong
		return false
	}
	goal, _, _ := liveGoal(store) // here, too
	return markedRun(store, line) != "" || takenRun(store, a.streams.Env, line) != "" ||
		sessionAgent(a.streams.Env, line, goal.Session) != ""
}

// agreeToGit asks once for consent to the programs that git starts for files of the workspace, such as
// Git LFS, and to sign commits. An agent does not give it. Without it, Ralph's git starts none of them and
// takes files as they are.
func agreeToGit(ctx context.Context, a *app, home workspace.Workspace, settings config.Settings) error {
	commits := settings.Commit != "" && settings.Commit != "off" || settings.Worktree != ""
	programs, err := home.UnagreedPrograms(ctx, commits)
	if len(programs.Commands) == 0 || err != nil {
		return err
	}
	list, byAgent := commandLines(programs.Commands), agentCalls(a, home)
	agreed := settings.Trust && !byAgent
	if !agreed && !byAgent && mayAsk(a) {
		fmt.Fprintf(a.errLines(), "Git would start programs for files of this project:%s\n", list)
		agreed = answersYes(a, "Let Ralph's git start them in this repository from now on? [y/N] ")
	}
	if agreed {
		return programs.Agree(a.streams.Env, time.Now())
	}
	fmt.Fprintf(a.errLines(), "ralph: warning: without your consent, Ralph's git does not start these programs "+
		"and takes files as they are:%s\nto agree, %s\n", list, howToAgree(byAgent))
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
