package agent

import (
	"bytes"
	"embed"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// samples are short successful runs, one in each dialect: testdata/samples/NAME.jsonl, or NAME.txt
// for free text.
var samples = loadSamples()

//go:embed testdata/samples
var sampleFiles embed.FS

// structuredSamples are the names of those that print events.
var structuredSamples []string

func loadSamples() map[string]string {
	all := map[string]string{}
	for _, d := range Known() {
		text, err := sampleFiles.ReadFile("testdata/samples/" + d.Name() + ".jsonl")
		if err == nil {
			structuredSamples = append(structuredSamples, d.Name())
		} else if text, err = sampleFiles.ReadFile("testdata/samples/" + d.Name() + ".txt"); err != nil {
			panic("a dialect without a sample: " + err.Error())
		}
		all[d.Name()] = string(text)
	}
	return all
}

// sizeless leaves out what differs because the sample was changed.
func sizeless(o ralph.AgentOutcome) ralph.AgentOutcome {
	o.OutputBytes = 0
	return o
}

func TestSamplesEndWell(t *testing.T) {
	for name, sample := range samples {
		t.Run(name, func(t *testing.T) {
			got := listen(name, []byte(sample), whole, exited(0))
			if got.End != ralph.EndOK || !got.Said.Complete || got.Said.Blocked != nil {
				t.Errorf("got %+v", got)
			}
			if diff := cmp.Diff([]string{"TASK-1"}, got.Said.TasksDone); diff != "" {
				t.Errorf("tasks -want +got:\n%s", diff)
			}
		})
	}
}

func TestOutputMayBeSplitAnywhere(t *testing.T) {
	for name, sample := range samples {
		t.Run(name, func(t *testing.T) {
			want := listen(name, []byte(sample), whole, exited(0))
			for at := range sample {
				if testing.Short() && at%7 > 0 {
					continue
				}
				got := listenTwice(name, sample[:at], sample[at:])
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("split at %d (-want +got):\n%s", at, diff)
				}
			}
			if diff := cmp.Diff(want, listen(name, []byte(sample), 1, exited(0))); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

func listenTwice(name, first, second string) ralph.AgentOutcome {
	d, _ := Find(name)
	c := New(Options{Dialect: d})
	in := ralph.AgentInput{Live: func(ralph.Activity) {}}
	r := c.newReading(in)
	reader := d.newReader(r)
	r.Hear(in)
	_, _ = reader.Write([]byte(first))
	_, _ = reader.Write([]byte(second))
	reader.Close()
	e := exited(0)
	e.StdoutBytes = int64(len(first) + len(second))
	return c.outcome(r, e)
}

// TestStreamsAreReadTolerantly changes the streams in ways that must not matter.
func TestStreamsAreReadTolerantly(t *testing.T) {
	everyLine := func(change func(string) string) func(string) string {
		return func(sample string) string {
			var b strings.Builder
			for line := range strings.Lines(sample) {
				b.WriteString(change(line))
			}
			return b.String()
		}
	}
	changes := map[string]func(string) string{
		"CRLF":        everyLine(func(l string) string { return strings.ReplaceAll(l, "\n", "\r\n") }),
		"blank lines": everyLine(func(l string) string { return "\n \n" + l }),
		"unknown events": everyLine(func(l string) string {
			return `{"type":"brand.new","message":"x","item":[1]}` + "\n" + l
		}),
		"no types": everyLine(func(l string) string { return `{"hello":{"type":"result"}}` + "\n" + l }),
		"garbage": everyLine(func(l string) string {
			return "npm warn <promise>BLOCKED:no</promise>\n}{][\"\\\x00\xff\n" + l
		}),
		"other JSON": everyLine(func(l string) string { return "null\n17\n\"text\"\n[]\n[1,[2],\"x\"]\n{}\n" + l }),
		"cut JSON":   everyLine(func(l string) string { return l[:len(l)/2] + "\n" + l }),
		"wrong types": everyLine(func(l string) string {
			return `{"type":["assistant"],"message":"x","usage":[]}` + "\n" + l
		}),
		"odd containers": everyLine(func(l string) string {
			return `{"type":"user","message":[[]]}` + "\n" + `{"type":"item.updated","item":"x"}` + "\n" + l
		}),
		"blanks in JSON": everyLine(func(l string) string {
			return strings.NewReplacer(`":`, `" : `, `,"`, ` , "`, `{"`, ` { "`).Replace(l)
		}),
		"type as last":    everyLine(typeLast),
		"an array a line": everyLine(func(l string) string { return "[" + strings.TrimSpace(l) + "]\n" }),
		"no last newline": func(s string) string { return strings.TrimSuffix(s, "\n") },
		"one array": func(s string) string {
			return "[" + strings.Join(strings.Split(strings.TrimSpace(s), "\n"), ",") + "]\n"
		},
	}
	for _, name := range structuredSamples {
		want := sizeless(listen(name, []byte(samples[name]), whole, exited(0)))
		for change, apply := range changes {
			t.Run(name+"/"+change, func(t *testing.T) {
				text := apply(samples[name])
				if diff := cmp.Diff(want, sizeless(listen(name, []byte(text), 7, exited(0)))); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

// typeLast moves the type of an event to its end.
func typeLast(line string) string {
	head, rest, ok := strings.Cut(line, `"type":`)
	if !ok || head != "{" {
		return line
	}
	kind, rest, _ := strings.Cut(rest, ",")
	if strings.HasSuffix(kind, "}\n") {
		return line
	}
	return "{" + strings.TrimSuffix(rest, "}\n") + `,"type":` + kind + "}\n"
}

func TestPartialLastLine(t *testing.T) {
	for _, name := range structuredSamples {
		sample := samples[name]
		last := strings.LastIndex(strings.TrimSpace(sample), "\n") + 1
		for at := last + 1; at < len(sample)-1; at++ {
			got := listen(name, []byte(sample[:at]), whole, exited(0))
			if got.End != ralph.EndProvider || got.Error != "the agent's output was cut off" || got.Tokens != nil ||
				!got.Said.Complete {
				t.Fatalf("%s cut at %q: %+v", name, sample[last:at], got)
			}
		}
	}
}

func TestCutWithinAnUnreadEvent(t *testing.T) {
	long := `{"type":"user","message":"` + strings.Repeat("x", 2*stream.HeadSize)
	got := listen("claude", []byte(samples["claude"][:100]+"\n"+long), 100, exited(0))
	if got.End != ralph.EndProvider {
		t.Errorf("got %+v", got)
	}
}

func TestNothingUnderstood(t *testing.T) {
	for _, name := range structuredSamples {
		for _, text := range []string{
			"All done.\n<promise>COMPLETE</promise>\n", `{"kind":"answer","text":"<promise>COMPLETE</promise>"}` + "\n",
			"\x00\xff",
		} {
			want := ralph.AgentOutcome{
				Agent: name, End: ralph.EndBroken,
				Error: "the agent's output could not be understood; its format may be new", Hint: stream.BrokenHint,
				OutputBytes: int64(len(text)),
			}
			if diff := cmp.Diff(want, listen(name, []byte(text), whole, exited(0))); diff != "" {
				t.Errorf("%s %q (-want +got):\n%s", name, text, diff)
			}
		}
	}
}

func TestLongLines(t *testing.T) {
	filler := strings.Repeat(`all work and no play\n`, stream.MaxLine/20)
	cases := []struct {
		name, dialect, line string
		want                func(*ralph.AgentOutcome)
	}{
		{
			"tool result", "claude",
			`{"type":"user","message":{"content":[{"type":"tool_result","content":"` + filler + `"}]}}`,
			func(*ralph.AgentOutcome) {},
		},
		{
			"tool call",
			"claude",
			`{"type":"assistant","message":{"id":"m9","content":[{"type":"tool_use","name":"Write",` +
				`"input":{"file_path":"a","content":"` + filler + `"}}]},"parent_tool_use_id":null}`,
			func(o *ralph.AgentOutcome) { o.Tools["Write"] = 1 },
		},
		{"command's output", "codex",
			`{"type":"item.completed","item":{"id":"i9","type":"command_execution","command":"yes","aggregated_output":"` +
				filler + `"}}`,
			func(o *ralph.AgentOutcome) { o.Tools["command_execution"]++; *o.Steps++ }},
		{
			"text", "claude",
			`{"type":"assistant","message":{"id":"m9","content":[{"type":"text","text":"` + filler +
				`"}]},"parent_tool_use_id":null}`,
			lostOne,
		},
		{
			"message", "codex",
			`{"type":"item.completed","item":{"id":"i9","type":"agent_message","text":"` + filler + `"}}`, lostOne,
		},
		{"no event at all", "claude", filler, lostOne},
	}
	for _, c := range cases {
		t.Run(c.dialect+"/"+c.name, func(t *testing.T) {
			want := sizeless(listen(c.dialect, []byte(samples[c.dialect]), whole, exited(0)))
			c.want(&want)
			got := sizeless(listen(c.dialect, []byte(c.line+"\n"+samples[c.dialect]), 32<<10, exited(0)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func lostOne(o *ralph.AgentOutcome) {
	o.Truncated, o.Error = true, "lines of the agent's output that were too long to read: 1"
}

func FuzzClaude(f *testing.F)  { fuzzReader(f, "claude") }
func FuzzCodex(f *testing.F)   { fuzzReader(f, "codex") }
func FuzzCommand(f *testing.F) { fuzzReader(f, "command") }

func fuzzReader(f *testing.F, name string) {
	for line := range strings.Lines(samples[name]) {
		f.Add([]byte(line), 3)
	}
	f.Add([]byte(samples[name]), 10)
	for _, tr := range allTranscripts(f) {
		if tr.cli == name && len(tr.stdout) < 8<<10 {
			f.Add(tr.stdout, 1000)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		piece = min(max(piece, 1), 1<<20)
		got, in := listen(name, text, piece, exited(0)), listen(name, text, whole, exited(0))
		if diff := cmp.Diff(in, got); diff != "" {
			t.Fatalf("in pieces of %d it reads differently (-whole +pieces):\n%s", piece, diff)
		}
		if got.End == "" || got.End != ralph.EndOK && got.Error == "" {
			t.Fatalf("no end: %+v", got)
		}
		if got.End == ralph.EndOK && slices.Contains(structuredSamples, name) && !bytes.Contains(text, []byte("{")) {
			t.Fatalf("a good end out of nothing: %q", text)
		}
	})
}
