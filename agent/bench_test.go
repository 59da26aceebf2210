package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// goSource is what tools read and write: code, with many characters that JSON escapes.
var goSource = strings.Repeat("func (s *server) handle(w http.ResponseWriter, r *http.Request) {\n\tif "+
	"r.Method != \"POST\" {\n"+
	"\t\thttp.Error(w, \"method \\\"\"+r.Method+\"\\\" not allowed\", 405)\n\t\treturn\n\t}\n}\n\n", 60)

func quoted10k() string {
	text, _ := json.Marshal(goSource)
	return string(text)
}

// claudeWork is a part of a long claude run: a remark, a file read, a file written, a command with
// its output.
func claudeWork() []byte {
	source := quoted10k()
	var b bytes.Buffer
	for i := range 20 {
		b.WriteString(claudeSays(
			fmt.Sprint("msg_", i),
			"I will now look at the handler and see why the method check is wrong. Then I will run the tests again.",
		))
		fmt.Fprintf(
			&b,
			`{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"opus",`+
				`"content":[{"type":"tool_use","id":"t%d","name":"Write",`+
				`"input":{"file_path":"internal/server/handle.go","content":%s}}],`+
				`"usage":{"input_tokens":1000,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s1"}`+"\n",
			i,
			i,
			source,
		)
		fmt.Fprintf(
			&b,
			`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":%s}]},`+
				`"parent_tool_use_id":null,"session_id":"s1","tool_use_result":{"stdout":%s}}`+"\n",
			i,
			source,
			source,
		)
		fmt.Fprintf(
			&b,
			`{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"opus",`+
				`"content":[{"type":"tool_use","id":"u%d","name":"Bash","input":{"command":"go test ./..."}}]},`+
				`"parent_tool_use_id":null,"session_id":"s1"}`+"\n",
			i,
			i,
		)
	}
	return b.Bytes()
}

// codexWork is the same for codex.
func codexWork() []byte {
	source := quoted10k()
	var b bytes.Buffer
	for i := range 20 {
		fmt.Fprintf(
			&b,
			`{"type":"item.completed","item":{"id":"m%d","type":"agent_message","text":"I will now look at the handler `+
				`and see why the method check is wrong. Then I will run the tests again."}}`+"\n",
			i,
		)
		fmt.Fprintf(
			&b,
			`{"type":"item.started","item":{"id":"i%d","type":"command_execution","command":"/bin/bash -lc 'cat handle.go'",`+
				`"aggregated_output":"","exit_code":null,"status":"in_progress"}}`+"\n",
			i,
		)
		fmt.Fprintf(
			&b,
			`{"type":"item.completed","item":{"id":"i%d","type":"command_execution","command":"/bin/bash -lc 'cat handle.go'",`+
				`"aggregated_output":%s,"exit_code":0,"status":"completed"}}`+"\n",
			i,
			source,
		)
	}
	return b.Bytes()
}

// hearing is a reader that is fed in the sizes in which process output is read.
func hearing(d Dialect) func([]byte) {
	r := &stream.Reading{Live: func(ralph.Activity) {}, Now: time.Now}
	reader := d.newReader(r)
	r.Said = &stream.Speech{Scanner: promise.NewScanner(promise.Options{})}
	return func(text []byte) {
		for len(text) > 0 {
			n := min(32<<10, len(text))
			_, _ = reader.Write(text[:n])
			text = text[n:]
		}
	}
}

func BenchmarkReaders(b *testing.B) {
	for _, c := range []struct {
		name    string
		dialect Dialect
		text    []byte
	}{
		{"claude", claude{}, claudeWork()},
		{"codex", codex{}, codexWork()},
		{"command", command{}, []byte(goSource)},
		{
			"claude-init-lines", claude{},
			bytes.Repeat(
				[]byte(
					`{"type":"system","subtype":"init","cwd":"/workspace","session_id":"s1",`+
						`"tools":["Task","Bash","Edit","Read","Write"],"mcp_servers":[],"model":"opus"}`+"\n",
				),
				1000,
			),
		},
	} {
		b.Run(c.name, func(b *testing.B) {
			hear := hearing(c.dialect)
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				hear(c.text)
			}
		})
	}
}

// BenchmarkGigabyte reads a gigabyte and reports the memory in use afterwards.
func BenchmarkGigabyte(b *testing.B) {
	text := claudeWork()
	for b.Loop() {
		hear := hearing(claude{})
		for heard := 0; heard < 1<<30; heard += len(text) {
			hear(text)
		}
		b.ReportMetric(float64(heap()), "heap-bytes")
		runtime.KeepAlive(hear)
	}
	b.SetBytes(1 << 30)
}

// heap returns the memory in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMemoryDoesNotGrow(t *testing.T) {
	streams := map[string][]byte{
		"claude": claudeWork(), "codex": codexWork(), "command": []byte(goSource),
		"new sessions, messages and tools": nil,
	}
	for name, text := range streams {
		t.Run(name, func(t *testing.T) {
			d, ok := Find(name)
			next := func(int) []byte { return text }
			if !ok {
				d = claude{}
				next = func(i int) []byte {
					return []byte(strings.Repeat(claudeSays(fmt.Sprint("m", i), fmt.Sprint("said ", i))+
						fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"tool%d"}]}}`+"\n", i), 50))
				}
			}
			hear := hearing(d)
			for i := range 50 {
				hear(next(i))
			}
			before := heap()
			for i := range 100 {
				hear(next(100 + i))
			}
			if after := heap(); after > before+256<<10 {
				t.Errorf("%d bytes more are held", after-before)
			}
			runtime.KeepAlive(hear)
		})
	}
}
