package assembly

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/verify"
)

// hookSet is the hooks that the settings name. They have the environment of checks, since they may run what an agent wrote, and what they say goes back
// to it: no key of a model, and programs that an agent leaves in the workspace do not come before those on PATH.
func (p *Plan) hookSet() *hooks.Set {
	h, timeout := p.Settings.Hooks, p.Settings.Hooks.Timeout.Duration()
	if timeout == 0 { // no limit
		timeout = -1
	}
	env := append(verify.WithoutWorkspace(p.checkEnv(), p.Workspace.Dir), config.InsideRunVariable+"="+p.run)
	return &hooks.Set{
		PreTool: hooks.Hooks[hooks.ToolCall]{Commands: h.PreTool}, PostEdit: hooks.Hooks[hooks.Edit]{Commands: h.PostEdit},
		PreIteration:  hooks.Hooks[ralph.IterationAhead]{Commands: h.PreIteration},
		PostIteration: hooks.Hooks[ralph.IterationJudged]{Commands: h.PostIteration},
		OnStop:        hooks.Hooks[ralph.RunEnd]{Commands: h.OnStop},
		Env:           env, Home: p.Env.Home, Marker: p.run, Timeout: timeout,
	}
}

// sayWhatHooksCannot tells of hooks that nobody will ask: a CLI makes its tool calls without asking here.
func (p *Plan) sayWhatHooksCannot() {
	h := p.Settings.Hooks
	var deaf []string
	for _, c := range p.agents {
		if c.by == nil {
			deaf = append(deaf, c.name)
		}
	}
	if len(h.PreTool)+len(h.PostEdit) > 0 && len(deaf) > 0 {
		p.notice("hooks_unused", "hooks.pre_tool and hooks.post_edit are asked by the built-in worker alone: they have no effect with "+strings.Join(deaf, ", "))
	}
}
