package goal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// tree returns the name of the workspace's current state, "" without Config.Tree.
func (m *Middleware) tree(ctx context.Context) (string, error) {
	if m.Tree == nil {
		return "", nil
	}
	state, err := m.Tree.Fingerprint(ctx, ralph.TreeInput{})
	if err == nil && !state.Known {
		err = errors.New("its state is unknown")
	}
	if err != nil {
		return "", fmt.Errorf("fingerprint workspace: %w", err)
	}
	return state.ID(), nil
}

// weigh returns what the evidence amounts to now. If it passes, it looks at the files once more, because the agent may
// have left a process that changes them.
func (m *Middleware) weigh(ctx context.Context, s *State) (evidence judge.Weighing, err error) {
	for range 2 {
		tree, err := m.tree(ctx)
		if err != nil {
			return judge.Weighing{}, err
		}
		if evidence = s.weigh(m.rules, tree); evidence.Word != judge.EvidencePassed {
			break
		}
	}
	return evidence, nil
}

// stamp returns what the workspace is right now, with the times of its changes. It is empty if Config.Tree has none.
func (m *Middleware) stamp(ctx context.Context) (ralph.Stamp, error) {
	stamper, ok := m.Tree.(ralph.Stamper)
	if !ok {
		return ralph.Stamp{}, nil
	}
	stamp, err := stamper.Stamp(ctx, m.isVerifierOutput)
	if err != nil {
		return ralph.Stamp{}, fmt.Errorf("read times of files: %w", err)
	}
	return stamp, nil
}

// stampBefore is stamp for what comes next. Times of files are coarse: it waits until the last change is so old that
// the next one has another time.
func (m *Middleware) stampBefore(ctx context.Context) (stamp ralph.Stamp, err error) {
	for range 3 { // something may write all the time, which stamp notices too
		if stamp, err = m.stamp(ctx); err != nil || time.Since(stamp.At) > judge.ClockStep {
			return stamp, err
		}
		select {
		case <-time.After(judge.ClockStep):
		case <-ctx.Done():
			return ralph.Stamp{}, fmt.Errorf("read times of files: %w", context.Cause(ctx))
		}
	}
	return stamp, nil
}

// movedSince names what changed since an earlier stamp, also if it changed back; "" if nothing did.
func (m *Middleware) movedSince(ctx context.Context, before string) (string, error) {
	if before == "" {
		return "", nil
	}
	now, err := m.stamp(ctx)
	if err != nil || now.ID == before {
		return "", err
	}
	if now.Last == "." {
		now.Last = "the list of files"
	}
	return now.Last, nil
}

// isVerifierOutput reports whether Config.VerifierOutput has a file or folder.
func (m *Middleware) isVerifierOutput(name string) bool {
	name = strings.TrimSuffix(name, "/")
	return slices.ContainsFunc(m.VerifierOutput, func(output string) bool {
		output = strings.TrimSuffix(output, "/")
		return name == output || strings.HasPrefix(name, output+"/")
	})
}
