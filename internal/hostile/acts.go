package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// act is one thing that the attacker can do. It has a target and a token, which others recognize.
type act func(out io.Writer, target, token string) error

const dialTimeout = 2 * time.Second

// acts are all acts by their names.
var acts = map[string]act{
	"write": func(_ io.Writer, target, token string) error {
		return os.WriteFile(target, []byte(token), 0o600)
	},
	"read": func(out io.Writer, target, _ string) error {
		content, err := os.ReadFile(target)
		fmt.Fprintf(out, "%s\n", content)
		return err
	},
	"open": func(_ io.Writer, target, _ string) error {
		file, err := os.Open(target)
		if err != nil {
			return err
		}
		return file.Close()
	},
	"open-write": func(_ io.Writer, target, _ string) error {
		file, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return file.Close()
	},
	"tcp":      dial("tcp"),
	"udp":      dial("udp"),
	"unix":     dial("unix"),
	"symlink":  writeThroughLink,
	"hardlink": writeThroughHardLink,
	"rename":   rename,
	"replace":  replaceFolder,
	"processes": func(out io.Writer, _, token string) error {
		return findProcess(out, token)
	},
	"setuid": func(_ io.Writer, target, token string) error {
		if err := os.WriteFile(target, []byte(token), 0o700); err != nil {
			return err
		}
		return os.Chmod(target, 0o755|os.ModeSetuid)
	},
	"memory":   useMemory,
	"fork":     forkMany,
	"signal":   killProcess,
	"ptrace":   attach,
	"mount":    mountOver,
	"userns":   makeUserNamespace,
	"mknod":    makeDevice,
	"terminal": typeInto,
	"wait": func(out io.Writer, terminal, _ string) error {
		if terminal != "" { // which it works in from now on, because it leads a session
			if _, err := os.OpenFile(terminal, os.O_RDWR, 0); err != nil {
				return err
			}
		}
		fmt.Fprintln(out, os.Getpid())
		time.Sleep(time.Hour) // until it is killed
		return nil
	},
}

// Attack performs one act: its name, target and token. An error means that it did not work. After the
// name "metadata" a command follows the token, which WithMetadata starts.
func Attack(ctx context.Context, out io.Writer, env, args []string) error {
	const needed = 3
	if len(args) < needed {
		return errors.New("an attack needs a name, a target and a token")
	}
	if args[0] == "metadata" {
		return WithMetadata(ctx, args[1], args[needed:], env)
	}
	do, known := acts[args[0]]
	if !known {
		return errors.New("there is no attack " + args[0])
	}
	return do(out, args[1], args[2])
}

func dial(network string) act {
	return func(_ io.Writer, target, token string) error {
		conn, err := net.DialTimeout(network, target, dialTimeout)
		if err != nil {
			return err
		}
		_, err = io.WriteString(conn, token)
		return errors.Join(err, conn.Close())
	}
}

// writeThroughLink makes a link in the workspace to the target, and writes to the link.
func writeThroughLink(_ io.Writer, target, token string) error {
	if err := os.Symlink(target, "link"); err != nil {
		return err
	}
	return os.WriteFile("link", []byte(token), 0o600)
}

// writeThroughHardLink gives the target a second name in the workspace, and writes to that.
func writeThroughHardLink(_ io.Writer, target, token string) error {
	if err := os.Link(target, "second"); err != nil {
		return err
	}
	return os.WriteFile("second", []byte(token), 0o600)
}

// rename moves the target's folder away, and puts another one with the target in its place.
func rename(_ io.Writer, target, token string) error {
	folder := filepath.Dir(target)
	if err := os.Rename(folder, folder+".old"); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(token), 0o600)
}

// replaceFolder does the same with the parent of the target's folder, and keeps what is in it.
func replaceFolder(_ io.Writer, target, token string) error {
	parent := filepath.Dir(filepath.Dir(target))
	if err := os.Rename(parent, parent+".old"); err != nil {
		return err
	}
	if err := os.CopyFS(parent, os.DirFS(parent+".old")); err != nil {
		return err
	}
	_ = os.Remove(target) // it may be read-only
	return os.WriteFile(target, []byte(token), 0o600)
}

// findProcess looks for a process with the token in its arguments, other than itself.
func findProcess(out io.Writer, token string) error {
	own := strconv.Itoa(os.Getpid())
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, file := range files {
		words, err := os.ReadFile(file)
		parts := strings.Split(string(words), "\x00")
		isVictim := len(parts) > 3 && parts[len(parts)-4] == "wait" && strings.Contains(string(words), token)
		if err == nil && filepath.Base(filepath.Dir(file)) != own && isVictim {
			fmt.Fprintln(out, token)
			return nil
		}
	}
	return errors.New("no such process can be seen")
}

// useMemory uses as many MiB as the target says.
func useMemory(_ io.Writer, target, _ string) error {
	size, err := strconv.Atoi(target)
	if err != nil {
		return err
	}
	const mib = 1 << 20
	var held [][]byte
	for range size {
		block := make([]byte, mib)
		for i := 0; i < mib; i += os.Getpagesize() {
			block[i] = 1
		}
		held = append(held, block)
	}
	if len(held) != size {
		return errors.New("memory was lost")
	}
	return nil
}
