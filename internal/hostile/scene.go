package hostile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
)

// Scene is a scratch copy of what a user has, for one attempt. The files exist, and contain the token if
// they are secret.
type Scene struct {
	Root      string
	Home      string
	State     string // Ralph's folders
	Config    string
	Cache     string
	Workspace string // a git repository
	Outside   string // a folder that is neither home nor workspace
	Env       []string

	token   string
	self    []string // the command that starts the attacker
	cleanup []func()
}

// newScene makes a scene below a folder. The caller closes it.
func newScene(folder string, self []string, path string) (*Scene, error) {
	root, err := os.MkdirTemp(folder, "scene-")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	s := &Scene{
		Root: root, Home: at("home"), State: at("home/.local/state/ralph"), Config: at("home/.config/ralph"),
		Cache: at("home/.cache/ralph"), Workspace: at("home/project"), Outside: at("outside"),
		token: "token-" + rand.Text(), self: self,
	}
	folders := []string{at("home/go/bin"), at("home/.docker/bin"), path}
	s.Env = []string{
		"HOME=" + s.Home, "PATH=" + strings.Join(folders, string(os.PathListSeparator)), "LANG=C.UTF-8",
	}
	for name, content := range map[string]string{
		"home/.bashrc":                     "# startup\n",
		"home/.ssh/id_ed25519":             s.token,
		"home/.netrc":                      s.token,
		"home/.docker/config.json":         s.token,
		"home/.docker/bin/tool":            "",
		"home/.config/git/credentials":     s.token,
		"home/.claude/settings.json":       "{}\n",
		"home/.claude.json":                "{}\n",
		"home/go/bin/tool":                 "#!/bin/sh\n",
		"home/.config/ralph/config.yaml":   "",
		"home/.local/state/ralph/runs/log": "",
		"home/.local/state/ralph/runs/key": s.token,
		"home/.cache/ralph/proof":          "",
		"home/project/file":                "",
		"home/project/.git/HEAD":           "ref: refs/heads/main\n",
		"home/project/.git/config":         "[core]\n\trepositoryformatversion = 0\n",
		"home/project/.git/hooks/sample":   "",
		"home/project/.git/objects/none":   "",
		"home/project/.git/refs/none":      "",
		"outside/folder/file":              "",
	} {
		file := at(name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600))
		if err != nil {
			s.close()
			return nil, fmt.Errorf("make a scratch folder: %w", err)
		}
	}
	return s, nil
}

func (s *Scene) close() {
	for _, undo := range s.cleanup {
		undo()
	}
	_ = os.RemoveAll(s.Root)
}

// wrote reports whether a file contains the token.
func (s *Scene) wrote(file string) func(string) bool {
	return func(string) bool {
		content, err := os.ReadFile(file)
		return err == nil && bytes.Contains(content, []byte(s.token))
	}
}

// said reports whether the attacker printed the token.
func (s *Scene) said(output string) bool { return strings.Contains(output, s.token) }

// arrival is how long a message may take on this machine.
const arrival = 300 * time.Millisecond

// listen waits for connections to an address, and reports whether one brought the token.
func (s *Scene) listen(network, address string) (reached string, arrived func(string) bool, err error) {
	if network == "udp" {
		packets, err := net.ListenPacket(network, address)
		if err != nil {
			return "", nil, err
		}
		s.cleanup = append(s.cleanup, func() { _ = packets.Close() })
		return packets.LocalAddr().String(), func(string) bool {
			_ = packets.SetDeadline(time.Now().Add(arrival))
			buffer := make([]byte, len(s.token))
			n, _, err := packets.ReadFrom(buffer)
			return err == nil && string(buffer[:n]) == s.token
		}, nil
	}
	at, reached := address, ""
	if filepath.IsAbs(address) {
		folder, err := os.Open(filepath.Dir(address))
		if err != nil {
			return "", nil, err
		}
		defer folder.Close()
		// The path of a socket has at most 107 bytes.
		at = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(address))
		reached = s.shortest(address)
	}
	listener, err := net.Listen(network, at)
	if err != nil {
		return "", nil, err
	}
	s.cleanup = append(s.cleanup, func() { _ = listener.Close() })
	return cmp.Or(reached, listener.Addr().String()), func(string) bool { return s.accepts(listener) }, nil
}

// shortest returns a path as the attacker can name it.
func (s *Scene) shortest(path string) string {
	relative, err := filepath.Rel(s.Workspace, path)
	if err != nil || len(relative) > len(path) {
		return path
	}
	return relative
}

func (s *Scene) accepts(listener net.Listener) bool {
	limited, ok := listener.(interface{ SetDeadline(time.Time) error })
	if !ok || limited.SetDeadline(time.Now().Add(arrival)) != nil {
		return false
	}
	conn, err := listener.Accept()
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(arrival))
	message, err := io.ReadAll(conn)
	return err == nil && string(message) == s.token
}

// victim starts a process in the place of Ralph: outside of the sandbox, with a secret in its
// environment, and maybe a terminal. It returns its ID, and a function that reports whether it was killed.
func (s *Scene) victim(ctx context.Context, terminal string) (pid string, killed func(string) bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan process.Result, 1)
	said, tell := io.Pipe()
	go func() {
		result, _ := process.Run(ctx, process.Spec{
			Argv: append(s.self[:len(s.self):len(s.self)], "wait", terminal, s.token), Dir: s.Outside,
			Env: append(s.Env[:len(s.Env):len(s.Env)], "SECRET="+s.token), Grace: -1, Stdout: process.Sink{Tap: tell},
		})
		_ = tell.Close()
		ended <- result
	}()
	var once bool
	wait := func() process.Result {
		once = true
		return <-ended
	}
	s.cleanup = append(s.cleanup, func() {
		stop()
		if !once {
			wait()
		}
	})
	line := make([]byte, len("4294967296\n"))
	n, err := said.Read(line)
	if err != nil {
		return "", nil, errors.New("the process in the place of Ralph did not start")
	}
	return strings.TrimSpace(string(line[:n])), func(string) bool {
		select {
		case <-time.After(arrival):
			return false
		case result := <-ended:
			once = true
			return result.Signal == "killed"
		}
	}, nil
}
