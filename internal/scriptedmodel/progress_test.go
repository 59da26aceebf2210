package scriptedmodel_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

const twoAgents = `{"s": {"side": "A title", "conversations": [
	[{"text": "first, one", "tools": [{"shell": "true"}]}, {"text": "first, two"}],
	[{"text": "second, one", "tools": [{"shell": "true"}]}, {"text": "second, two", "tools": [{"shell": "true"}]}]
]}}`

func TestOneConversationAfterTheOther(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, parse(t, twoAgents))
		c := newClient(t, f, server.URL()+"/s")
		c.streams = streams
		call := func(agent, at int) turn { return turn{"said", fmt.Sprintf("call_n%dt%di0", agent, at)} }
		got := []string{
			c.says(), c.says(call(0, 0)), c.says(call(0, 0)), // a repeated request does not advance
			c.says(call(0, 0), turn{said: "first, two"}), // after the end the last turn is repeated
			c.says(), c.says(call(1, 0)), c.says(call(1, 0), call(1, 1)),
			c.says(), c.says(call(2, 0)),
		}
		want := []string{
			"first, one", "first, two", "first, two", "first, two",
			"second, one", "second, two", "The script has no more turns.",
			"second, one", "second, two",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// The tool's result identifies the conversation, so that a slower agent does not get a faster one's
// next turn.
func TestAgentsSideBySide(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, parse(t, twoAgents))
		slow, fast := newClient(t, f, server.URL()+"/s"), newClient(t, f, server.URL()+"/s")
		slow.streams, fast.streams = streams, streams
		got := []string{
			slow.says(), fast.says(), slow.says(turn{"first, one", "call_n0t0i0"}),
			fast.says(turn{"second, one", "call_n1t0i0"}),
		}
		if diff := cmp.Diff([]string{"first, one", "second, one", "first, two", "second, two"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSideCallsMoveNothing(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, parse(t, twoAgents))
		c := newClient(t, f, server.URL()+"/s")
		c.streams = streams
		many := append([]string{"a", "b", "c"}, shells[f.name]...)
		got := []string{
			c.hear(nil, nil).Text,  // a title
			c.hear(nil, many).Text, // the agent
			c.hear(nil, nil).Text,
			c.hear(nil, shells[f.name]).Text, // a background agent with fewer tools
			c.hear([]turn{{"said", "call_n0t0i0"}}, many).Text,
			c.hear([]turn{{said: "first, two"}}, shells[f.name]).Text,
			c.hear(nil, many).Text,
		}
		want := []string{"A title", "first, one", "A title", "A title", "first, two", "A title", "second, one"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Two different CLIs may use one scenario, one after the other. The second one's tools are compared
// only with its own.
func TestClientsAreToldApart(t *testing.T) {
	server := start(t, parse(t, twoAgents))
	one, other := newClient(t, formats[0], server.URL()+"/s"), newClient(t, formats[1], server.URL()+"/s")
	first := one.hear(nil, []string{"a", "b", "c", "d", "Bash"}).Text
	second := other.hear(nil, []string{"exec_command"}).Text
	if first != "first, one" || second != "second, one" {
		t.Errorf("%q, then %q", first, second)
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	var mu sync.Mutex
	seen := 0
	server := start(t, parse(t, twoAgents), scriptedmodel.Observe(func(scriptedmodel.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen++
	}))
	var clients sync.WaitGroup
	for i := range 32 {
		clients.Go(func() {
			c := newClient(t, formats[i%len(formats)], server.URL()+"/s")
			if said := c.says(); !strings.HasSuffix(said, ", one") {
				t.Errorf("a first turn says %q", said)
			}
		})
	}
	clients.Wait()
	if logged := len(server.Requests()); logged != 32 || seen != 32 {
		t.Errorf("%d requests in the log, %d observed", logged, seen)
	}
}

func TestLog(t *testing.T) {
	var bodies []int
	server := start(t,
		parse(t, `{"s": {"conversations": [[{"text": "a", "faults": [{"do": "status", "status": 500}]}]]}}`),
		scriptedmodel.Observe(func(r scriptedmodel.Request) { bodies = append(bodies, len(r.Body)) }))
	c := newClient(t, formats[0], server.URL()+"/s")
	response, err := c.post(nil, shells["anthropic"])
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	c.says()
	c.streams = false
	c.hear(nil, nil)

	got := server.Requests()
	for i := range got {
		if got[i].Time.IsZero() || bodies[i] == 0 {
			t.Errorf("request %d has no time or no body", i)
		}
		got[i].Time = got[0].Time
	}
	like := scriptedmodel.Request{
		Time: got[0].Time, Method: "POST", Path: "/s/v1/messages", Scenario: "s", Wire: "anthropic", Model: "scripted-1",
		Stream: true,
		Agent:  1, Turn: 1, Fault: scriptedmodel.FaultStatus, Status: 500, Tools: []string{"Bash", "Read"},
	}
	good, side := like, like
	good.Fault, good.Status = "", 200
	side.Stream, side.Side, side.Agent, side.Turn, side.Fault, side.Status, side.Tools = false, true, 0, 0, "", 200, nil
	if diff := cmp.Diff([]scriptedmodel.Request{like, good, side}, got); diff != "" {
		t.Error(diff)
	}
}
