package runlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func post(t *testing.T, s *Store, message ralph.Message) ralph.Message {
	t.Helper()
	id, err := s.SendMessage(message)
	if err != nil {
		t.Fatal(err)
	}
	message.ID = id
	return message
}

func TestLettersWaitForTheNextRun(t *testing.T) {
	s := openStore(t)
	if got, err := s.Messages(); err != nil || got != nil {
		t.Fatalf("at first: got %v, %v", got, err)
	}
	steer := post(t, s, ralph.Message{
		Kind: ralph.MessageSteer, Text: "mind the <tests> & \"quotes\"\nand lines", ID: "ignored",
	})
	answer := post(t, s, ralph.Message{Kind: ralph.MessageAnswer, Text: "yes", Question: "really?", Run: sampleRun})

	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	late := post(t, twin(s), ralph.Message{Kind: ralph.MessageSteer, Text: strings.Repeat("é", MessageLimit/2)})
	want := []ralph.Message{steer, answer, late}
	for range 2 { // looking takes nothing out
		if got, err := log.Messages(); err != nil || !cmp.Equal(got, want) {
			t.Fatalf("got %v, %v (-want +got)\n%s", got, err, cmp.Diff(want, got))
		}
	}
	for range 2 { // taken twice is taken
		if err := log.Ack(answer.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Ack(steer.ID); err != nil {
		t.Fatal(err)
	}
	got, err := s.Messages()
	if diff := cmp.Diff([]ralph.Message{late}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestUnfitLetters(t *testing.T) {
	s := openStore(t)
	for name, message := range map[string]ralph.Message{
		"blank":         {Kind: ralph.MessageSteer, Text: " \n\t"},
		"too long":      {Kind: ralph.MessageSteer, Text: strings.Repeat("x", MessageLimit+1)},
		"long question": {Kind: ralph.MessageAnswer, Text: "yes", Question: strings.Repeat("x", MessageLimit+1)},
		"no kind":       {Text: "yes"},
		"unknown kind":  {Kind: "order", Text: "yes"},
	} {
		if id, err := s.SendMessage(message); !errors.Is(err, ErrInvalidMessage) || errors.Is(err, ralph.ErrIO) || id != "" {
			t.Errorf("%s: got %q, %v", name, id, err)
		}
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("something was created: %v", err)
	}
}

// The longest message that SendMessage accepts must come back, even if JSON makes six bytes of one.
func TestTheLongestLetterIsReadBack(t *testing.T) {
	s := openStore(t)
	text := strings.Repeat("\x01", MessageLimit-1) + "!"
	want := post(t, s, ralph.Message{Kind: ralph.MessageAnswer, Text: text, Question: text})
	got, err := s.Messages()
	if diff := cmp.Diff([]ralph.Message{want}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%.200s", err, diff)
	}
}

func TestBrokenLettersAreNamedAndLeft(t *testing.T) {
	s := openStore(t)
	good := post(t, s, ralph.Message{Kind: ralph.MessageSteer, Text: "go on"})
	folder := filepath.Join(s.Dir(), "letters")
	for name, content := range map[string]string{
		"0A.json": `{"kind":"steer","text":`, "0B.json": "", "0C.json": `{"kind":"steer","text":" "}`,
		"0D.json":            `{"kind":"steer","text":"x"}` + strings.Repeat(" ", messageFileLimit),
		".0E.json.123":       "being written",
		"notes.txt":          "nobody's",
		"with blank in.json": "nobody's either",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), fileMode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "0F.json"), folderMode); err != nil {
		t.Fatal(err)
	}
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	want := []ralph.Message{good}
	if got, err := log.Messages(); err != nil || !cmp.Equal(got, want) {
		t.Errorf("the run gets %v, %v", got, err)
	}
	got, err := s.Messages()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("got %v", err)
	}
	var named []string
	for _, err := range joined.Unwrap() {
		bad, ok := errors.AsType[*BadMessage](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		named = append(named, filepath.Base(bad.Path)+": "+bad.Why)
	}
	reasons := []string{
		"0A.json: unexpected end of JSON input", "0B.json: unexpected end of JSON input",
		"0C.json: invalid message: it is empty",
		fmt.Sprintf("0D.json: more than %d bytes", messageFileLimit), "0F.json: not a file",
	}
	if diff := cmp.Diff(reasons, named); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTookWantsAnID(t *testing.T) {
	s := openStore(t)
	kept := post(t, s, ralph.Message{Kind: ralph.MessageSteer, Text: "stay"})
	for _, id := range []string{"", "../workspace", "a/b", ".", kept.ID + ".json"} {
		if err := s.Ack(id); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
	if err := s.Ack("01JZZZZZZZZZZZZZZZZZZZZZZZ"); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	got, err := s.Messages()
	if diff := cmp.Diff([]ralph.Message{kept}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// Several processes may write at once, and each reads what is whole.
func TestLettersOfManyWriters(t *testing.T) {
	s := openStore(t)
	const writers, each = 4, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			own := twin(s)
			for i := range each {
				if _, err := own.SendMessage(ralph.Message{
					Kind: ralph.MessageSteer, Text: fmt.Sprintf("%d %02d", w, i),
				}); err != nil {
					t.Error(err)
				}
				if _, err := own.Messages(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	messages, err := s.Messages()
	if err != nil || len(messages) != writers*each {
		t.Fatalf("got %d letters, %v", len(messages), err)
	}
	last := map[byte]string{}
	for i, message := range messages {
		if i > 0 && message.ID <= messages[i-1].ID {
			t.Errorf("%s follows %s", message.ID, messages[i-1].ID)
		}
		if earlier := last[message.Text[0]]; message.Text <= earlier {
			t.Errorf("%q follows %q", message.Text, earlier)
		}
		last[message.Text[0]] = message.Text
	}
}

func TestLettersThatCannotBeWritten(t *testing.T) {
	s := openStore(t)
	if err := os.MkdirAll(s.Dir(), folderMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "letters"), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SendMessage(ralph.Message{Kind: ralph.MessageSteer, Text: "x"}); !errors.Is(err, ralph.ErrIO) {
		t.Errorf("post: got %v", err)
	}
	if got, err := s.Messages(); err == nil || got != nil {
		t.Errorf("letters: got %v, %v", got, err)
	}
}

func TestModesOfWhatIsKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	s := openStore(t)
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	tasks, err := log.Keep("tasks")
	if err != nil {
		t.Fatal(err)
	}
	again, err := log.Keep("tasks")
	if err != nil || again != tasks || tasks != filepath.Join(s.RunDir(sampleRun), "tasks") {
		t.Errorf("got %s, then %s, %v", tasks, again, err)
	}
	message := post(t, s, ralph.Message{Kind: ralph.MessageSteer, Text: "x"})
	for path, want := range map[string]os.FileMode{
		tasks: folderMode, filepath.Join(s.Dir(), "letters"): folderMode,
		filepath.Join(s.Dir(), "letters", message.ID+".json"): fileMode,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestKeepWantsAName(t *testing.T) {
	s := openStore(t)
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, name := range []string{"", ".", "..", "a/b", "../other"} {
		if path, err := log.Keep(name); err == nil {
			t.Errorf("%q became %s", name, path)
		}
	}
	if err := os.WriteFile(filepath.Join(log.Dir(), "taken"), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Keep("taken"); !errors.Is(err, ralph.ErrIO) {
		t.Errorf("got %v", err)
	}
}

func TestFoldersOfTheWorkspace(t *testing.T) {
	s := openStore(t)
	got := []string{s.SnapshotsOf(nil), s.WorktreesDir()}
	want := []string{filepath.Join(s.Dir(), "snapshots.git"), filepath.Join(s.Dir(), "worktrees")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
