//go:build unix

package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// The test binary also plays the processes that die: roles by the name of the first argument, each
// given a store and what else it needs.
var roles = map[string]func(s *Store, args []string) error{
	"write-until-killed": writeUntilKilled,
	"write-until-full":   writeUntilFull,
	"lock-and-wait":      lockAndWait,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 3 {
		if play, ok := roles[os.Args[1]]; ok {
			s, err := Open(os.Args[2], os.Args[3])
			if err == nil {
				err = play(s, os.Args[4:])
			}
			if err != nil {
				fmt.Println("failed:", err)
			}
			return
		}
	}
	m.Run()
}

// actor is a process of this test.
type actor struct {
	process *os.Process
	says    *bufio.Scanner
}

// start runs a role over the store below state.
func start(t *testing.T, role, state, workspace string, args ...string) *actor {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	process, err := os.StartProcess(program, append([]string{program, role, state, workspace}, args...), &os.ProcAttr{
		Files: []*os.File{nil, in, os.Stderr},
	})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	return &actor{process, bufio.NewScanner(out)}
}

func (a *actor) next(t *testing.T) string {
	t.Helper()
	if !a.says.Scan() {
		t.Fatal("the process said nothing more")
	}
	return a.says.Text()
}

// kill ends the process the hard way and gives the last whole line that it said.
func (a *actor) kill(t *testing.T, last string) string {
	t.Helper()
	if err := a.process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.process.Wait(); err != nil {
		t.Fatal(err)
	}
	for a.says.Scan() {
		last = a.says.Text()
	}
	return last
}

// writeUntilKilled appends as fast as it can, syncs now and then, and says which event was synced
// last.
func writeUntilKilled(s *Store, args []string) error {
	lock, err := s.Lock(Owner{PID: os.Getpid(), Run: sampleRun})
	if err != nil {
		return err
	}
	defer lock.Release()
	log, err := openOrCreate(s)
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for told := (&script{run: sampleRun, seq: log.seq}); ; told.events = told.events[:0] {
		told.iteration(1 + random.IntN(9))
		for _, e := range told.events {
			if err := log.Append(e); err != nil {
				return err
			}
			if random.IntN(4) > 0 {
				continue
			}
			if err := log.Sync(); err != nil {
				return err
			}
			fmt.Println(e.Seq)
		}
	}
}

func openOrCreate(s *Store) (*Log, error) {
	log, _, _, err := reopen(s, sampleRun)
	if errors.Is(err, os.ErrNotExist) {
		return s.Create(sampleRun)
	}
	return log, err
}

// Fifty processes write one run, each killed at another moment: the next one finds every synced
// event and a sequence without a gap.
func TestKilledWritersLoseNothingThatWasSynced(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	s, err := Open(state, workspace)
	if err != nil {
		t.Fatal(err)
	}
	random, lives := rand.New(rand.NewPCG(7, 8)), 50
	if testing.Short() {
		lives = 20
	}
	for life := range lives {
		writer := start(t, "write-until-killed", state, workspace, strconv.Itoa(life))
		said := writer.next(t)
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) // the moment of death, not a wait for anything
		said = writer.kill(t, said)
		synced, err := strconv.ParseInt(said, 10, 64)
		if err != nil {
			t.Fatal(said)
		}
		events := int64(0)
		if err := s.Read(sampleRun, func(ralph.Event, []byte) error { events++; return nil }); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		log, folded, _, err := reopen(s, sampleRun)
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		log.Close()
		if folded.Seq < synced || folded.Seq != events {
			t.Fatalf("life %d: %d events are left of %d that were synced, %d were read", life, folded.Seq, synced, events)
		}
	}
}

// writeUntilFull appends until the system refuses to let the file grow.
func writeUntilFull(s *Store, _ []string) error {
	log, err := s.Create(sampleRun)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var rlimit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &rlimit); err != nil {
		return err
	}
	rlimit.Cur = 50_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &rlimit); err != nil {
		return err
	}
	told := &script{run: sampleRun}
	told.start()
	for n := 1; ; n++ {
		told.iteration(n)
		for _, e := range told.events {
			if err := log.Append(e); err != nil {
				fmt.Println(log.seq, errors.Is(err, ralph.ErrIO), errors.Is(err, syscall.EFBIG))
				return nil
			}
		}
		told.events = nil
	}
}

func TestSystemThatRefusesToWrite(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	s, err := Open(state, workspace)
	if err != nil {
		t.Fatal(err)
	}
	writer := start(t, "write-until-full", state, workspace)
	said := writer.next(t)
	if _, err := writer.process.Wait(); err != nil {
		t.Fatal(err)
	}
	log, folded, tail, err := reopen(s, sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if want := fmt.Sprintf("%d true true", folded.Seq); said != want || folded.Seq < 50 || tail != (Tail{}) {
		t.Errorf("the writer said %q, want %q, and left a tail of %d bytes", said, want, tail.Dropped)
	}
}

func lockAndWait(s *Store, args []string) error {
	lock, err := s.Lock(Owner{PID: os.Getpid(), Run: args[0]})
	if err != nil {
		return err
	}
	defer lock.Release()
	fmt.Println("locked")
	time.Sleep(time.Hour) // it is killed before
	return nil
}

func TestLockEndsWithItsProcess(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	s, err := Open(state, workspace)
	if err != nil {
		t.Fatal(err)
	}
	first := start(t, "lock-and-wait", state, workspace, "R1")
	if said := first.next(t); said != "locked" {
		t.Fatal(said)
	}
	want := Owner{PID: first.process.Pid, Run: "R1"}
	if got, held := s.Holder(); !held || !cmp.Equal(want, got) {
		t.Errorf("got %v, %t", got, held)
	}
	second := start(t, "lock-and-wait", state, workspace, "R2")
	if said, want := second.next(t), fmt.Sprintf("run R1, pid %d,", first.process.Pid); !strings.Contains(said, want) {
		t.Errorf("the second was told %q, want %q", said, want)
	}
	if _, err := second.process.Wait(); err != nil {
		t.Fatal(err)
	}
	first.kill(t, "")
	if got, held := s.Holder(); held {
		t.Errorf("the dead still hold it: %v", got)
	}
	lock, err := s.Lock(Owner{PID: 1, Run: "R3"})
	if err != nil {
		t.Fatal(err)
	}
	lock.Release()
}
