package hooks

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/hooks/deny"
	"github.com/ralphloop/ralph/internal/process"
)

const (
	// settingsTimeout limits how long git may take to list its configuration.
	settingsTimeout = 5 * time.Second
	// settingsLimit is how many bytes of it are read.
	settingsLimit = 1 << 20
)

// deny applies the built-in rules for shell commands. The tool itself refuses input that deny cannot
// read.
func (s *Set) deny(ctx context.Context, call *ToolCall) Answer {
	var input struct {
		Command string `json:"command"`
	}
	if call.Tool != "bash" || json.Unmarshal(call.Input, &input) != nil {
		return Answer{}
	}
	place := deny.Place{
		Dir: filepath.ToSlash(call.Dir), Home: filepath.ToSlash(s.home()), IsFolder: isFolder,
		GitSettings: func(dir string) []deny.Setting { return s.gitSettings(ctx, dir) },
	}
	if s.ToolEnv != nil {
		place.Variable = s.toolVariable
	}
	answer := deny.Check(input.Command, place)
	switch {
	case answer.Decision == deny.Refused:
		return Answer{Decision: Block, Text: answer.Text}
	case answer.Decision == deny.Undetermined && s.Strict:
		return Answer{Decision: Block, Text: "refused: in strict mode a command must show what it does, and " +
			answer.Text + "; write out what it runs"}
	}
	call.Undetermined = answer.Text
	return Answer{}
}

func (s *Set) home() string {
	home := s.Home
	for _, entry := range s.Env {
		if value, ok := strings.CutPrefix(entry, "HOME="); ok && s.Home == "" {
			home = value
		}
	}
	return home
}

func (s *Set) toolVariable(name string) (value string, set bool) {
	for _, entry := range s.ToolEnv { // of duplicates the last counts
		if key, v, ok := strings.Cut(entry, "="); ok && key == name {
			value, set = v, true
		}
	}
	return value, set
}

func isFolder(path string) bool {
	info, err := os.Stat(filepath.FromSlash(path))
	return err == nil && info.IsDir()
}

// gitSettings returns the configuration of git in a folder; none if git cannot be asked.
func (s *Set) gitSettings(ctx context.Context, dir string) []deny.Setting {
	listed := head{limit: settingsLimit}
	ended, err := process.Run(ctx, process.Spec{
		Argv: []string{"git", "config", "--list", "-z"}, Dir: filepath.FromSlash(dir), Env: s.Env, Marker: s.Marker,
		Stdout: process.Sink{Tap: &listed}, Timeout: settingsTimeout, Grace: s.Grace,
	})
	if err != nil || ended.State != process.Exited || ended.ExitCode != 0 {
		return nil
	}
	var settings []deny.Setting
	for entry := range strings.SplitSeq(string(listed.kept), "\x00") {
		if key, value, ok := strings.Cut(entry, "\n"); key != "" {
			if !ok {
				value = "true" // a key alone
			}
			settings = append(settings, deny.Setting{Key: key, Value: value})
		}
	}
	return settings
}
