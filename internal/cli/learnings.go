package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// learning is a note for later runs that an agent proposed.
type learning struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Run      string `json:"run_id"`
	Accepted bool   `json:"accepted"`
}

// learningsCommand is `ralph learnings`.
type learningsCommand struct {
	*app
	accept []string // ids of the learnings to accept
}

func newLearningsCommand(a *app) *cobra.Command {
	c := &learningsCommand{app: a}
	cmd := &cobra.Command{
		Use: "learnings", Short: "List and accept learnings that agents proposed", GroupID: "look", Args: noArguments,
		Long: `List learnings that agents proposed for later runs. An agent proposes one with a
line that starts with LEARNING:. The built-in worker is asked for one when some
of its cases were rejected before one was accepted, and in --profile case after
every task that is done. Only --accept moves a learning into
.ralph/learnings.md, which every later prompt quotes.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().StringArrayVar(&c.accept, "accept", nil, "move the learning `ID` into .ralph/learnings.md")
	return cmd
}

func (c *learningsCommand) run(ctx context.Context) error {
	workspace, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	known, err := proposed(store, workspace.Dir)
	if err != nil {
		return err
	}
	if len(c.accept) > 0 {
		return c.acceptChosen(ctx, workspace, known)
	}
	return c.table(known, func(out io.Writer) {
		if len(known) == 0 {
			fmt.Fprintln(c.errLines(), "no learnings yet; an agent proposes one with a line that starts with LEARNING:")
		}
		for _, l := range known {
			state := "proposed"
			if l.Accepted {
				state = "accepted"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\n", l.ID, state, term.Clean(l.Text))
		}
	})
}

// proposed lists the learnings proposed in any run of the workspace, newest run first, without
// duplicates.
func proposed(store *runlog.Store, dir string) ([]learning, error) {
	runs, err := store.Runs()
	if err != nil {
		return nil, err
	}
	accepted, err := acceptedLearnings(dir)
	if err != nil {
		return nil, err
	}
	all, seen := []learning{}, map[string]bool{}
	for _, r := range runs {
		if r.Broken != "" {
			continue
		}
		state, err := stateOf(store, r.Run)
		if err != nil {
			return nil, err
		}
		for _, l := range state.Learnings {
			if !seen[l.ID] {
				seen[l.ID] = true
				all = append(all, learning{l.ID, l.Text, r.Run, strings.Contains(accepted, learningLine(l.Text))})
			}
		}
	}
	return all, nil
}

func learningLine(text string) string { return "- " + text + "\n" }

func acceptedLearnings(dir string) (string, error) {
	text, err := textfile.Read(dir, ralph.LearningsFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, textfile.ErrEmpty) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", ralph.LearningsFile, err)
	}
	return strings.ReplaceAll(text, "\r\n", "\n") + "\n", nil
}

// acceptChosen adds the chosen learnings to the project's file.
func (c *learningsCommand) acceptChosen(ctx context.Context, workspace workspace.Workspace, known []learning) error {
	if err := c.outsideOnly(ctx, "learnings --accept"); err != nil {
		return err
	}
	if err := c.mayEdit(workspace); err != nil {
		return err
	}
	chosen, err := chosenLearnings(known, c.accept)
	if err != nil {
		return err
	}
	for i, l := range chosen {
		if l.Accepted {
			continue
		}
		if err := appendLearning(workspace.Dir, l.Text); err != nil {
			return err
		}
		chosen[i].Accepted = true
	}
	return c.show(chosen, func(out io.Writer) {
		for _, l := range chosen {
			fmt.Fprintf(out, "accepted: %s (in %s)\n", term.Clean(l.Text), ralph.LearningsFile)
		}
	})
}

// chosenLearnings finds learnings by their ids or unique prefixes of them, without duplicates.
func chosenLearnings(known []learning, ids []string) ([]learning, error) {
	chosen := []learning{}
	for _, id := range ids {
		found := slices.DeleteFunc(slices.Clone(known), func(l learning) bool {
			return id == "" || !strings.HasPrefix(l.ID, id)
		})
		switch {
		case len(found) == 0:
			return nil, usage("--accept %s: no such learning; ralph learnings lists them", id)
		case len(found) > 1:
			return nil, usage("--accept %s: %d learnings start with this id; type more of it", id, len(found))
		case !slices.Contains(chosen, found[0]):
			chosen = append(chosen, found[0])
		}
	}
	return chosen, nil
}

func appendLearning(dir, text string) error {
	before, err := acceptedLearnings(dir)
	if err != nil {
		return err
	}
	line := learningLine(text)
	switch {
	case before == "":
		line = "# Learnings\n\n" + line
	case !strings.HasSuffix(before, "\n\n"): // the file ends without a line break
		line = "\n" + line
	}
	if err := appendTo(dir, ralph.LearningsFile, line); err != nil {
		return fmt.Errorf("write %s: %w", ralph.LearningsFile, err)
	}
	return nil
}

func appendTo(dir, name, line string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line)
	return errors.Join(err, file.Close())
}
