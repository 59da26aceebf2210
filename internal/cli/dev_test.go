package cli_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ralphloop/ralph/internal/cli"
)

// Each request is one line on stderr, for people and for programs.
func TestModelServerLog(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"dev", "model-server", "--log"}, []string{
			"POST /tool/v1/messages: agent 1, turn 1, status 200\n",
			"POST /401/v1/messages: agent 1, turn 1, status 401\n",
			"POST /tool/v1/messages: outside the conversation, status 200\n",
			"GET /tool/v1/nothing: status 404\n",
		}},
		{[]string{"dev", "model-server", "--log", "--jq", ".url"}, []string{
			`"path":"/tool/v1/messages","scenario":"tool","wire":"anthropic","model":"m","stream":false,"side":false,` +
				`"agent":1,"turn":1,"status":200`,
			`"path":"/401/v1/messages","scenario":"401","wire":"anthropic","model":"m","stream":false,"side":false,` +
				`"agent":1,"turn":1,"fault":"status","status":401`,
			`"path":"/tool/v1/messages","scenario":"tool","wire":"anthropic","model":"m","stream":false,"side":true,` +
				`"agent":0,"turn":0,"status":200`,
			`"path":"/tool/v1/nothing","scenario":"tool","stream":false,"side":false,"agent":0,"turn":0,"status":404`,
		}},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		out, in := io.Pipe()
		var log strings.Builder
		var server sync.WaitGroup
		server.Go(func() {
			defer in.Close()
			if code := cli.Main(ctx, cli.Streams{Args: test.args, Out: in, Err: &log}); code != 0 {
				t.Errorf("%q ends with %d", test.args, code)
			}
		})
		lines := bufio.NewReader(out)
		url, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		server.Go(func() { _, _ = io.Copy(io.Discard, lines) })
		url = strings.TrimSpace(url)
		const tools = `"tools": [{"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}]`
		ask := func(method, path, body string) {
			request, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if response, err := http.DefaultClient.Do(request); err == nil {
				response.Body.Close()
			}
		}
		ask(http.MethodPost, "/tool/v1/messages", `{"model": "m", `+tools+`}`)
		ask(http.MethodPost, "/401/v1/messages", `{"model": "m", `+tools+`}`)
		ask(http.MethodPost, "/tool/v1/messages", `{"model": "m"}`)
		ask(http.MethodGet, "/tool/v1/nothing", "")
		interrupt()
		server.Wait()
		for _, want := range test.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in\n%s", want, log.String())
			}
		}
	}
}
