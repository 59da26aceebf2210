package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/runlog"
)

// hookCommand is `ralph hook`: what Claude Code and Codex call at certain points of a session. Whatever goes wrong,
// it exits with 0: a gate that cannot look must not trap a person.
type hookCommand struct {
	*app
	timeout string
}

func newHookCommand(a *app) *cobra.Command {
	c := &hookCommand{app: a}
	cmd := &cobra.Command{
		Use: "hook", Short: "Answer a hook of Claude Code or Codex", GroupID: "keep", Args: knownCommand,
		Long: `Commands for the hooks of Claude Code and Codex. They read the hook's JSON on
stdin and answer in JSON. Without a goal for the session they do nothing: see
ralph goal. The same commands serve both programs:

  Stop          ralph hook stop
  SessionStart  ralph hook session-start
  PreToolUse    ralph hook pre-tool`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	answer := func(use, short string, do func(context.Context, hookInput) (hookOutput, error)) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return c.answer(cmd.Context(), do) }}
	}
	stop := answer("stop", "Judge the goal when the session's agent stops", c.stop)
	stop.Flags().StringVar(&c.timeout, "timeout", "10m", "how long the hook may take: `D`, as in its settings")
	cmd.AddCommand(stop,
		answer("session-start", "Tell a session its goal, also after a compaction", c.sessionStart),
		answer("pre-tool", "Refuse edits of protected files", c.preTool),
		&cobra.Command{Use: "judge RUN", Hidden: true, Args: exactlyOne("needs a run"),
			RunE: func(cmd *cobra.Command, args []string) error { return c.judge(cmd.Context(), args[0]) }},
	)
	return cmd
}

// hookInput is what the programs write to a hook. Codex has all fields of Claude Code that matter here.
type hookInput struct {
	Session    string          `json:"session_id"`
	Folder     string          `json:"cwd"`
	Event      string          `json:"hook_event_name"`
	Transcript string          `json:"transcript_path"`
	Source     string          `json:"source"`           // why a session starts: startup, resume, clear, compact
	Turn       string          `json:"turn_id"`          // only Codex
	Again      bool            `json:"stop_hook_active"` // the agent works because a hook blocked its last stop
	Message    *string         `json:"last_assistant_message"`
	Tool       string          `json:"tool_name"`
	ToolInput  json.RawMessage `json:"tool_input"`

	caller  string             // the session that the environment names; "" if none
	calling []string           // every session that it names
	line    []process.Ancestor // of the process that called
}

// agent returns the program that called the hook.
func (in hookInput) agent() string {
	if in.Turn != "" || strings.HasPrefix(filepath.Base(in.Transcript), "rollout-") {
		return "codex"
	}
	return "claude"
}

// hookOutput is the answer. An empty one is not printed and lets the session continue.
type hookOutput struct {
	Decision string        `json:"decision,omitempty"` // block, or nothing
	Reason   string        `json:"reason,omitempty"`   // for the agent
	Message  string        `json:"systemMessage,omitempty"`
	Specific *hookSpecific `json:"hookSpecificOutput,omitempty"`
}

type hookSpecific struct {
	Event      string `json:"hookEventName"`
	Context    string `json:"additionalContext,omitempty"`
	Permission string `json:"permissionDecision,omitempty"`
	Why        string `json:"permissionDecisionReason,omitempty"`
}

// longestInput is how much of a hook's input is read.
const longestInput = 64 << 20

// answer reads the input and prints the answer. Trouble of Ralph's own becomes a message to the user.
func (c *hookCommand) answer(ctx context.Context, do func(context.Context, hookInput) (hookOutput, error)) error {
	if c.streams.Env.InsideRun != "" { // the loop of that run judges its agent
		return nil
	}
	out, err := func() (out hookOutput, err error) {
		defer func() {
			if bug := recover(); bug != nil {
				err = fmt.Errorf("a bug in ralph: %v", bug)
			}
		}()
		var in hookInput
		if err := json.NewDecoder(io.LimitReader(c.streams.In, longestInput)).Decode(&in); err != nil {
			return out, fmt.Errorf("the hook's input is not JSON: %w", err)
		}
		in.caller, in.calling = c.streams.Env.Session.ID, callingSessions(c.streams.Env.Environ)
		in.line = c.streams.ancestors()
		return do(ctx, in)
	}()
	if err != nil {
		out = hookOutput{Message: "ralph could not check the goal: " + text.OneLine(err.Error())}
	}
	if out == (hookOutput{}) {
		return nil
	}
	encoder := json.NewEncoder(c.streams.Out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

// find returns the goal of the session, and false if it has none that has not ended.
func (c *hookCommand) find(in hookInput) (*runlog.Store, runlog.Goal, bool, error) {
	if c.streams.Env.StateDir == "" || in.Session == "" {
		return nil, runlog.Goal{}, false, nil
	}
	folder := absolute(c.streams.Dir, in.Folder)
	store, goal, ok, err := runlog.GoalOf(c.streams.Env.StateDir, in.Session, folder)
	ok = ok || in.follows(goal.Session)
	return store, goal, ok && (goal.Ended == "" || goal.Answer.IsFor(time.Now())), err
}

// errOther means that another session took the goal first.
var errOther = errors.New("the goal belongs to another session")

// follows reports whether the session took the place of one that has a goal: the user cleared its context, which gives
// the same process another session. In its hooks Claude Code names the new session, and Codex names none. Only commands
// of the agent still name the old one.
func (in hookInput) follows(bound *ralph.SessionBound) bool {
	if bound == nil || bound.PID == 0 || in.Source != "clear" || in.caller == bound.Session {
		return false
	}
	pid, identity := sessionProcess(in.line)
	return bound.PID == pid && bound.Identity == identity
}

// bind gives the goal to the session, or finds that it has it. The recorded process changes only if it is gone or its
// session was cleared, so that an agent that calls a hook itself does not hide its session. An agent that also changes
// what its environment says can pass for a cleared session; its goal then stays open, and is never proven by that.
func (in hookInput) bind(g *runlog.Goal) error {
	mine := g.Session != nil && g.Session.Session == in.Session
	if g.Run == "" || g.Session != nil && !mine && !in.follows(g.Session) {
		return errOther
	}
	if !mine || !(runlog.Owner{PID: g.Session.PID, Identity: g.Session.Identity}).Visible() {
		pid, identity := sessionProcess(in.line)
		g.Session = &ralph.SessionBound{Agent: in.agent(), Session: in.Session, PID: pid, Identity: identity}
	}
	return nil
}

func (c *hookCommand) sessionStart(_ context.Context, in hookInput) (hookOutput, error) {
	store, goal, ok, err := c.find(in)
	if err != nil || !ok || goal.Paused || goal.Ended != "" || goal.Prompt == "" {
		return hookOutput{}, err
	}
	err = runlog.EditGoal(store, func(g *runlog.Goal) error { g.Untold = false; return in.bind(g) })
	if err != nil {
		if errors.Is(err, errOther) {
			err = nil
		}
		return hookOutput{}, err
	}
	return hookOutput{Specific: &hookSpecific{Event: "SessionStart", Context: goal.Prompt}}, nil
}

func (c *hookCommand) preTool(_ context.Context, in hookInput) (hookOutput, error) {
	files := in.editedFiles()
	if len(files) == 0 {
		return hookOutput{}, nil
	}
	_, goal, ok, err := c.find(in)
	if err != nil || !ok || goal.Session == nil || goal.Paused || goal.Ended != "" {
		return hookOutput{}, err
	}
	isProtected := assembly.IsProtected(goal.Protects.Names, goal.Protects.Globs)
	for _, path := range files {
		name, err := filepath.Rel(goal.Workspace, realPath(absolute(absolute(c.streams.Dir, in.Folder), path)))
		if err != nil || !filepath.IsLocal(name) || !isProtected(filepath.ToSlash(name)) {
			continue
		}
		why := fmt.Sprintf("%s is protected while this session has a goal: the checks rely on it, and a claim with "+
			"another version is refused. Leave it as it is. If it must change, stop with a promise tag of type DECIDE and "+
			"say why.", name)
		return hookOutput{Specific: &hookSpecific{Event: "PreToolUse", Permission: "deny", Why: why}}, nil
	}
	return hookOutput{}, nil
}

// editTools name the file that they change. patchTool has files in the text of its patch; a shell can call it, too.
var (
	editTools  = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
	shellTools = []string{"Bash", "shell", "shell_command", "local_shell", "exec_command"}
)

const patchTool = "apply_patch"

var patchedFile = regexp.MustCompile(`(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$`)

// editedFiles returns the files that a tool call would change, as far as it names them.
func (in hookInput) editedFiles() (files []string) {
	var input any
	if json.Unmarshal(in.ToolInput, &input) != nil {
		input = string(in.ToolInput)
	}
	if slices.Contains(editTools, in.Tool) {
		fields, _ := input.(map[string]any)
		return append(textsIn(fields["file_path"]), textsIn(fields["notebook_path"])...)
	}
	patch := strings.Join(textsIn(input), "\n")
	if in.Tool == patchTool || slices.Contains(shellTools, in.Tool) && strings.Contains(patch, patchTool) {
		for _, match := range patchedFile.FindAllStringSubmatch(patch, -1) {
			files = append(files, match[1])
		}
	}
	return files
}

// textsIn returns every text in a JSON value, in an order that is the same each time.
func textsIn(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, element := range value {
			texts = append(texts, textsIn(element)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			texts = append(texts, textsIn(value[key])...)
		}
	}
	return texts
}

// realPath resolves the links of a path as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir), filepath.Base(path))
}
