package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// goalIn sets a goal in a workspace, for a session or for the first that asks.
func goalIn(t *testing.T, state, workspace, run, session string) *Store {
	t.Helper()
	store, err := Open(state, workspace)
	if err != nil {
		t.Fatal(err)
	}
	err = EditGoal(store, func(g *Goal) error {
		*g = Goal{Run: run}
		if session != "" {
			g.Session = &ralph.SessionBound{Agent: "claude", Session: session}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestGoalOfASession(t *testing.T) {
	state, top := t.TempDir(), t.TempDir()
	for _, dir := range []string{"a/deep/down", "b", "c"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(dir string) string { return filepath.Join(top, dir) }
	goalIn(t, state, at("a"), "R1", "S1")
	goalIn(t, state, at("b"), "R2", "")
	for name, tt := range map[string]struct{ session, folder, run string }{
		"its own":                          {"S1", "a", "R1"},
		"its own, from below":              {"S1", "a/deep/down", "R1"},
		"its own, from elsewhere":          {"S1", "c", "R1"},
		"its own, beside an unbound one":   {"S1", "b", "R1"},
		"the goal of another":              {"S2", "a", ""},
		"the goal of another, without id":  {"", "a", ""},
		"an unbound one":                   {"S2", "b", "R2"},
		"none":                             {"S2", "c", ""},
		"none, in a folder that is gone":   {"S2", "gone", ""},
		"its own, in a folder that's gone": {"S1", "gone", "R1"},
	} {
		_, goal, ok, err := GoalOf(state, tt.session, at(tt.folder))
		if err != nil || ok != (tt.run != "") || ok && goal.Run != tt.run {
			t.Errorf("%s: %+v, %t, %v, want %q", name, goal, ok, err, tt.run)
		}
	}
}

func TestOneSessionTakesAnUnboundGoal(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	store := goalIn(t, state, workspace, "R1", "")
	errTaken := errors.New("taken")
	var won sync.Map
	var asking sync.WaitGroup
	for _, session := range []string{"S1", "S2", "S3", "S4"} {
		asking.Go(func() {
			err := EditGoal(store, func(g *Goal) error {
				if g.Session != nil {
					return errTaken
				}
				g.Session = &ralph.SessionBound{Session: session}
				return nil
			})
			if err == nil {
				won.Store(session, true)
			} else if !errors.Is(err, errTaken) {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	goal, ok, err := ReadGoal(store)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	count := 0
	won.Range(func(session, _ any) bool {
		count++
		if session != goal.Session.Session {
			t.Errorf("%v took the goal of %s", session, goal.Session.Session)
		}
		return true
	})
	if count != 1 {
		t.Errorf("%d sessions took the goal", count)
	}
}

func TestAClearedGoalLeavesNothing(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	store := goalIn(t, state, workspace, "R1", "S1")
	if err := EditGoal(store, func(g *Goal) error { *g = Goal{}; return nil }); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(state, "sessions"))
	if _, _, ok, failed := GoalOf(state, "S1", workspace); ok || failed != nil || err != nil || len(left) > 0 {
		t.Errorf("goal %t, %v; sessions %v, %v", ok, failed, left, err)
	}
}

func TestGoalThatCannotBeRead(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	store := goalIn(t, state, workspace, "R1", "S1")
	for _, text := range []string{"", "{", `{"run":"../../etc"}`, `{}`} {
		if err := os.WriteFile(filepath.Join(store.Dir(), "goal.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, ok, err := GoalOf(state, "S1", workspace); ok || !errors.Is(err, ralph.ErrIO) {
			t.Errorf("%q: %t, %v, want an error", text, ok, err)
		}
	}
	goalIn(t, state, workspace, "R2", "S1")
	if goal, ok, err := ReadGoal(store); !ok || err != nil || goal.Run != "R2" {
		t.Errorf("%+v, %t, %v, want a new goal in its place", goal, ok, err)
	}
}

func TestAnswersAreForHooksThatWaited(t *testing.T) {
	given := time.Now()
	got := []bool{
		(*GoalAnswer)(nil).IsFor(given),
		(&GoalAnswer{Given: given}).IsFor(given.Add(time.Hour)),
		(&GoalAnswer{Given: given, Passed: true}).IsFor(given.Add(-time.Second)),
		(&GoalAnswer{Given: given, Passed: true}).IsFor(given.Add(time.Second)),
	}
	if diff := cmp.Diff([]bool{false, true, true, false}, got); diff != "" {
		t.Error(diff)
	}
}
