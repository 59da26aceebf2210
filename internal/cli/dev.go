package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// newDevCommand holds tools for developers of Ralph, and for finding out why an agent CLI
// misbehaves.
func newDevCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "dev", Short: "Tools for working on Ralph itself", Hidden: true, Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newModelServerCommand(a))
	return cmd
}

// modelServer is `ralph dev model-server`.
type modelServer struct {
	*app
	script, addr string
	log          bool
}

func newModelServerCommand(a *app) *cobra.Command {
	c := &modelServer{app: a}
	cmd := &cobra.Command{
		Use: "model-server", Short: "Serve a scripted model on this machine until interrupted", Args: noArguments,
		Long: `Serve a scripted model on this machine until interrupted: Anthropic Messages,
OpenAI Responses and Chat Completions, Gemini.
A client's base URL is the printed one, a slash, and a scenario's name.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context()) },
	}
	cmd.Flags().StringVar(&c.script, "script", "", "read scenarios from `FILE` instead of the built-in ones")
	cmd.Flags().StringVar(&c.addr, "addr", "127.0.0.1:0", "listen on this local `ADDRESS`")
	cmd.Flags().BoolVar(&c.log, "log", false, "print each request on stderr")
	return cmd
}

func (c *modelServer) serve(ctx context.Context) error {
	script, err := readScript(c.script)
	if err != nil {
		return err
	}
	var options []scriptedmodel.Option
	if c.log {
		options = append(options, scriptedmodel.Observe(c.requestPrinter()))
	}
	running, err := scriptedmodel.Listen(c.addr, scriptedmodel.New(script, options...))
	if err != nil {
		return usage("--addr: %v", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.announce(running.URL(), script); err != nil {
		return errors.Join(err, running.Close())
	}
	<-ctx.Done()
	return running.Close()
}

func readScript(file string) (scriptedmodel.Script, error) {
	if file == "" {
		return scriptedmodel.Standard(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("--script: %v", err)
	}
	script, err := scriptedmodel.Parse(text)
	if err != nil {
		return nil, usage("--script %s: %v", file, err)
	}
	return script, nil
}

// announce prints the URL of the server. Programs wait for this line.
func (c *modelServer) announce(url string, script scriptedmodel.Script) error {
	return c.show(struct {
		URL       string   `json:"url"`
		Scenarios []string `json:"scenarios"`
	}{url, script.Names()}, func(out io.Writer) {
		fmt.Fprintln(out, url)
		for _, name := range script.Names() {
			fmt.Fprintf(out, "%s/%s  %s\n", url, name, script[name].About)
		}
	})
}

// requestPrinter prints one line per request. Lines stay whole even if several requests come at
// once.
func (c *modelServer) requestPrinter() func(scriptedmodel.Request) {
	var mu sync.Mutex
	return func(r scriptedmodel.Request) {
		mu.Lock()
		defer mu.Unlock()
		if c.wantsJSON() {
			if line, err := json.Marshal(r); err == nil {
				fmt.Fprintf(c.streams.Err, "%s\n", line)
			}
			return
		}
		fmt.Fprintf(c.streams.Err, "%s %s: %s\n", r.Method, r.Path, answerText(r))
	}
}

func answerText(r scriptedmodel.Request) string {
	words := []string{fmt.Sprintf("status %d", r.Status)}
	switch {
	case r.Side:
		words = append([]string{"outside the conversation"}, words...)
	case r.Turn > 0:
		words = append([]string{fmt.Sprintf("agent %d, turn %d", r.Agent, r.Turn)}, words...)
	}
	if r.Fault != "" && r.Fault != scriptedmodel.FaultStatus {
		words = append(words, string(r.Fault))
	}
	return strings.Join(words, ", ")
}
