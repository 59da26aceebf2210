package doctor

import (
	"cmp"
	"context"
	"strings"

	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/sandbox"
)

// inForce says what an agent can reach in a tier.
var inForce = map[sandbox.Tier]string{
	sandbox.None: "agents run with your permissions, in their own edit mode unless --yolo",
	sandbox.Landlock: "agents change only the workspace, caches and their own files, and read of home only what they " +
		"need, but can change git's hooks and connect to sockets",
	sandbox.Bwrap:  "agents change only the workspace, caches and their own files, and see of home only what they need",
	sandbox.Docker: "agents see the workspace and the container's own files",
	sandbox.Sbx:    "agents work in a microVM that has the workspace",
}

// sandbox reports the tier that agents of the next run are in, and why it is not a stronger one.
func (x Examination) sandbox(ctx context.Context) Finding {
	f := Finding{What: "sandbox", State: OK}
	mode := cmp.Or(x.Settings.Sandbox.Mode, containment.Auto) // the settings may be unknown
	choice, err := containment.Choose(ctx, mode, containment.Place{
		Home: x.Env.Home, Workspace: x.Workspace.Dir, Env: x.Env.Environ, Own: x.Env.OwnFolders(),
		Network: sandbox.Network(x.Settings.Sandbox.Network),
	})
	if err != nil {
		f.State, f.Needed, f.Detail = Bad, true, strings.TrimPrefix(err.Error(), "sandbox ")
		return f
	}
	if !choice.Tier.Contains() {
		f.State = Note
	}
	f.Detail = string(choice.Tier) + ": " + inForce[choice.Tier]
	if len(choice.PassedOver) > 0 {
		f.Detail += "; passed over: " + choice.Reasons()
	}
	return f
}
