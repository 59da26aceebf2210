package term

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
)

// ownSequences are the terminal sequences that the views write.
var ownSequences = regexp.MustCompile(`\r\x1b\[2K|\x1b\[[0-9]+m|\n`)

// foreignControls returns the control characters that are left when ours are removed.
func foreignControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return r
		}
		return -1
	}, ownSequences.ReplaceAllString(text, ""))
}

// frames returns the states of the moving line: text between two erasures that does not end its
// line.
func frames(text string) []string {
	var found []string
	for _, piece := range strings.Split(text, eraseLine) {
		if piece != "" && !strings.HasSuffix(piece, "\n") {
			found = append(found, ownSequences.ReplaceAllString(piece, ""))
		}
	}
	return found
}

func TestLiveLine(t *testing.T) {
	const width = 60
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		state := &fold.State{}
		view := NewLive(Lines{Out: &out, Style: Style{Color: true}, State: state, Width: func() int { return width }})
		time.Sleep(frameEvery / 2) // so that no event coincides with a frame
		s := &eventFeeder{t: t, state: state}
		s.see = func(e ralph.Event) {
			view.See(e)
			time.Sleep(2 * frameEvery)
			if e.Type == ralph.EvAgentStarted {
				for _, news := range []ralph.Activity{
					{Kind: "tool", Name: "Bash", Detail: "go test ./..." + hostile}, {Kind: "text", Detail: hostile},
					{Kind: "retry", Name: strings.Repeat("long ", 40)},
				} {
					view.Live(news)
					time.Sleep(frameEvery)
				}
			}
		}
		story(s)
		view.Say("killing the agent and saving the state")
		view.Close()

		text := out.String()
		if bad := foreignControls(text); bad != "" {
			t.Errorf("control characters of an agent reach the terminal: %q", bad)
		}
		moving := frames(text)
		for _, frame := range moving {
			if utf8.RuneCountInString(frame) >= width {
				t.Errorf("a frame is as wide as the terminal: %q", frame)
			}
		}
		if strings.HasSuffix(ownSequences.ReplaceAllString(text, ""), moving[len(moving)-1]) {
			t.Error("the moving line is left behind")
		}
		golden(t, "live_frames", strings.Join(distinct(moving), "\n")+"\n")
	})
}

// distinct removes the spinner, and frames that repeat the one before.
func distinct(frames []string) []string {
	var kept []string
	for _, frame := range frames {
		_, text := utf8.DecodeRuneInString(frame)
		if frame = strings.TrimSpace(frame[text:]); len(kept) == 0 || kept[len(kept)-1] != frame {
			kept = append(kept, frame)
		}
	}
	return kept
}

func TestLiveLineCountsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		state := &fold.State{Elapsed: seconds(3600)} // a resumed run
		view := NewLive(Lines{Out: &out, State: state, Width: func() int { return 200 }})
		s := &eventFeeder{t: t, state: state, see: view.See}
		s.feed(ralph.EvRunStarted, ralph.RunStarted{Agent: "claude"})
		s.feed(ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitLimit, Wait: seconds(4), Detail: "usage limit"})
		time.Sleep(3450 * time.Millisecond)
		view.Close()
		got := strings.Join(distinct(frames(out.String())), "\n")
		want := `1:00:00 · waiting: usage limit (0:03 left)
1:00:01 · waiting: usage limit (0:03 left)
1:00:01 · waiting: usage limit (0:02 left)
1:00:02 · waiting: usage limit (0:02 left)
1:00:02 · waiting: usage limit (0:01 left)
1:00:03 · waiting: usage limit (0:01 left)
1:00:03 · waiting: usage limit (0:00 left)`
		if got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}
