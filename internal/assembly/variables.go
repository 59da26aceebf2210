package assembly

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/verify"
)

// checkEnv returns the environment of checks and hooks. They run code that an agent wrote, and the
// agent reads their output.
func (r Request) checkEnv() []string {
	return config.AgentEnv(r.Env, config.Passes{Names: r.Settings.Agent.Env})
}

// shell returns what runs checks.
func (r Request) shell(more ...string) verify.Shell {
	env := r.checkEnv()
	return verify.Shell{Env: append(env, more...), Withheld: config.Withheld(r.Env, env), Mask: r.Mask}
}

// MaskSecrets finds the secrets to mask. A run in a worktree masks those of the workspace that it comes from.
func (r *Request) MaskSecrets() (err error) {
	files := slices.Clone(r.Settings.Secrets.Files)
	for i, name := range files {
		if !filepath.IsAbs(name) && !strings.HasPrefix(name, "~/") {
			files[i] = filepath.Join(r.Workspace.Dir, name)
		}
	}
	r.Settings.Secrets.Files = files
	r.Mask, err = r.Settings.Masker(r.Env, r.Workspace.Dir)
	return err
}

// ownOfNamed returns the own variables of the agent CLIs that a command line names, because a wrapper of a CLI needs
// them, too.
func ownOfNamed(command string) (own []string) {
	for _, word := range strings.Fields(command) {
		for _, d := range agent.Known() {
			about := d.About()
			if about.Program != "" && filepath.Base(word) == about.Program {
				own = append(own, about.Env...)
			}
		}
	}
	return own
}

// warnWithheld says which variables the commands of agents mention and do not get.
func warnWithheld(p *Plan) {
	for _, c := range p.agents {
		command := c.options.CommandLine
		withheld := config.Withheld(p.Env, c.options.Env)
		if names := verify.Mentioned(withheld, p.Workspace.Dir, command, ""); len(names) > 0 {
			p.notice("variables_withheld", command+": "+verify.HintWithheld(names))
		}
	}
}
