//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stream is an agent that prints a long transcript.
type stream struct {
	program string
	bytes   int64
	mix     string
}

// parsing measures how fast agent output is read, by the CPU time of this process.
func (b *bench) parsing() {
	for _, times := range []int{1, b.large} {
		s := claudeStream(b.T, b.small, times)
		work := task{Dir: b.TempDir(), Program: s.program}
		var values, floors, ratios []float64
		for range max(1, b.rounds/5) {
			value, floor := b.rate("listen", work, s), b.rate("skim", work, s)
			values, floors, ratios = append(values, value), append(floors, floor), append(ratios, value/floor)
		}
		b.add(row{
			What: "parsing " + megabytes(s.bytes) +
				" of stream-json from a process", Unit: "MB/s", Value: median(values), Floor: median(floors),
			Ratio: median(ratios), Of: "reading it and looking for a tag", Aim: aim{valueAtLeast, 150}, Note: s.mix,
		})
	}
	if b.parser != "" {
		b.parserAlone()
	}
}

// rate returns megabytes per second of CPU, in a fresh process.
func (b *bench) rate(role string, work task, s stream) float64 {
	b.Helper()
	p := start(b.T, role, work)
	defer p.end(b.T)
	turns := int(max(1, int64(b.small)*3/s.bytes)) // a short stream ends too soon to be timed
	used := p.play(b.T, turns)
	if used.Bytes != s.bytes*int64(turns) {
		b.Fatalf("%s read %d bytes, want %d", role, used.Bytes, s.bytes*int64(turns))
	}
	return float64(used.Bytes) / 1e6 / used.Own.Seconds()
}

// parserAlone measures the reader without a process, a pipe and a file: the benchmark of package
// agent reads one gigabyte.
func (b *bench) parserAlone() {
	const heard = 1 << 30
	var values []float64
	for range max(1, b.rounds/5) {
		command := exec.Command(b.parser, "-test.run=^$", "-test.bench=^BenchmarkGigabyte$", "-test.benchtime=1x")
		out, err := command.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("BenchmarkGigabyte")) {
			b.Fatalf("benchmark of the parser: %v\n%s", err, out)
		}
		values = append(values, heard/1e6/(command.ProcessState.UserTime()+command.ProcessState.SystemTime()).Seconds())
	}
	floor := b.rows[len(b.rows)-1]
	b.add(row{
		What: "parsing 1 GB of stream-json from memory", Unit: "MB/s", Value: median(values), Floor: floor.Floor,
		Of:  "as above, from a process",
		Aim: aim{valueAtLeast, 150},
	})
}

func megabytes(n int64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

// claudeStream creates a program that prints the output of a long Claude Code session, its middle
// part several times over.
func claudeStream(t *testing.T, size, times int) stream {
	t.Helper()
	dir := t.TempDir()
	opening := `{"type":"system","subtype":"init","cwd":"/workspace","session_id":"s1","tools":["Bash","Edit",` +
		`"Read","Write"],"model":"opus"}` + "\n"
	closing := `{"type":"result","subtype":"success","is_error":false,"duration_ms":1000,"num_turns":9,` +
		`"result":"The handler is mended.","session_id":"s1",` +
		`"total_cost_usd":1.5,"usage":{"input_tokens":9,"output_tokens":9,"cache_read_input_tokens":9,` +
		`"cache_creation_input_tokens":9},"permission_denials":[]}` + "\n"
	middle, mix := session(size)
	files := map[string]string{"opening": opening, "middle": string(middle), "closing": closing}
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text, 0o600)
	}
	program := filepath.Join(dir, "claude")
	writeFile(t, program,
		fmt.Sprintf("#!/bin/sh\ncd '%s' && exec cat opening%s closing\n", dir, strings.Repeat(" middle", times)), 0o700)
	return stream{program, int64(len(opening) + times*len(middle) + len(closing)), mix}
}

// session returns a stretch of work: a remark, sometimes a thought, a file read or a command run, a
// file written, each with the tool's result.
func session(size int) (text []byte, mix string) {
	dice := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	share := map[string]int{}
	write := func(kind, format string, args ...any) {
		n, _ := fmt.Fprintf(&b, format+"\n", args...)
		share[kind] += n
	}
	const tail = `,"parent_tool_use_id":null,"session_id":"s1"}`
	const said = `{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"opus",` +
		`"content":[{"type":"%s","%s":%s}],"usage":{"input_tokens":9,"output_tokens":1}}` + tail
	const used = `{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"opus",` +
		`"content":[{"type":"tool_use","id":"t%d","name":"%s","input":%s}],"usage":{"input_tokens":9,"output_tokens":1}}` +
		tail
	const answered = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result",` +
		`"content":%s}]}` + tail
	for i := 0; b.Len() < size; i++ {
		write("text", said, i, "text", "text",
			quote("I will look at the handler now and see why the check of the method comes too late; then the tests run "+
				"again."))
		if i%3 == 0 {
			write("thinking", said, i, "thinking", "thinking",
				quote(strings.Repeat("Perhaps the order of the two matters here. ", 10)))
		}
		write("tool calls", used, i, 2*i, "Bash", `{"command":"go test ./... 2>&1 | tail -50","description":"Run the tests"}`)
		write("tool results", answered, 2*i, quote(source(dice, 200, 16<<10)))
		write("tool calls", used, i, 2*i+1, "Write",
			fmt.Sprintf(`{"file_path":"internal/server/handle%d.go","content":%s}`, i, quote(source(dice, 500, 8<<10))))
		write("tool results", answered, 2*i+1, quote("The file was written."))
	}
	kinds := slices.Sorted(maps.Keys(share))
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s %.1f %%", kind, 100*float64(share[kind])/float64(b.Len()))
	}
	return b.Bytes(), "bytes by kind: " + strings.Join(kinds, ", ")
}

const function = "func (s *server) handle(w http.ResponseWriter, r *http.Request) {\n\tif r.Method != \"POST\" {\n" +
	"\t\thttp.Error(w, \"method \\\"\"+r.Method+\"\\\" not allowed\", 405)\n\t\treturn\n\t}\n}\n\n"

// source returns some code, of at least from and less than to bytes.
func source(dice *rand.Rand, from, to int) string {
	size := from + dice.IntN(to-from)
	return strings.Repeat(function, size/len(function)+1)[:size]
}

func quote(text string) string {
	encoded, _ := json.Marshal(text) // a string can always be encoded
	return string(encoded)
}

// memory measures the most memory that a run needs while such an agent prints.
func (b *bench) memory() {
	var peaks []float64
	for _, times := range []int{1, b.large} {
		s := claudeStream(b.T, b.small, times)
		var values, floors []float64
		for range max(1, b.rounds/5) {
			skim := start(b.T, "skim", task{Dir: b.TempDir(), Program: s.program})
			floors = append(floors, float64(skim.play(b.T, 1).Peak)/1e6)
			skim.end(b.T)
			values = append(values, float64(b.peakOfRun(s))/1e6)
		}
		peaks = append(peaks, median(values))
		b.add(row{
			What: "peak memory of `ralph run` hearing " +
				megabytes(s.bytes), Unit: "MB", Value: median(values), Floor: median(floors),
			Of: "reading it and looking for a tag", Aim: aim{valueAtMost, 25},
		})
	}
	b.add(row{
		What: "peak memory, the long stream against the short one", Unit: "MB", Value: peaks[1], Floor: peaks[0],
		Of:  "the short one",
		Aim: aim{ratioAtMost, 1.1}, Note: "the short one is over before the first garbage collection",
	})
}

// peakOfRun runs one iteration with that agent and tracks the program's peak memory.
func (b *bench) peakOfRun(s stream) int64 {
	b.Helper()
	env := append(plainEnv(), "PATH="+filepath.Dir(s.program)+":"+os.Getenv("PATH"))
	return b.peakOf(1, env, "run", "measure", "-C", b.TempDir(), "--quiet", "--allow-unverified", "--agent", "claude",
		"-n", "1")
}

// peakOf returns the most memory that the program had. It requires the given exit code.
func (b *bench) peakOf(code int, env []string, args ...string) int64 {
	b.Helper()
	command := exec.Command(b.ralph, args...)
	command.Env = append(env, "RALPH_STATE_DIR="+b.TempDir())
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	var peak int64
	for pid := fmt.Sprint(command.Process.Pid); ; time.Sleep(time.Millisecond) {
		select {
		case <-ended:
			if got := command.ProcessState.ExitCode(); got != code {
				b.Fatalf("ralph %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out.String())
			}
			return peak
		default:
			peak = max(peak, memoryOf(pid, "status", "VmHWM"))
		}
	}
}
