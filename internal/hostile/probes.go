package hostile

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Probe is one attack.
type Probe struct {
	Name  string `json:"name"`
	About string `json:"about"`

	act string
	// offline probes run with a network that is off.
	offline bool
	aim     func(context.Context, *Scene) (target, error)
}

// target is what an attack is aimed at.
type target struct {
	name string
	// hit looks from the outside, and at the attacker's output; nil if the attacker's own word counts,
	// because only it can know.
	hit func(output string) bool
	// enter, if set, is a command that the attacker starts in.
	enter []string
}

// What more the attacker uses than it was given.
const (
	manyProcesses = 400
	muchMemory    = 512 // MiB
)

// Probes returns all attacks, in the order of the table.
func Probes() []Probe {
	return append(fileProbes(), append(processProbes(), networkProbes()...)...)
}

func fileProbes() []Probe {
	writes := func(name, about string, file func(*Scene) string) Probe {
		return Probe{Name: name, About: about, act: "write", aim: func(_ context.Context, s *Scene) (target, error) {
			return target{name: file(s), hit: s.wrote(file(s))}, nil
		}}
	}
	reads := func(name, about, file string) Probe {
		return Probe{Name: name, About: about, act: "read", aim: func(_ context.Context, s *Scene) (target, error) {
			return target{name: filepath.Join(s.Home, file), hit: s.said}, nil
		}}
	}
	outside := func(s *Scene) string { return filepath.Join(s.Outside, "folder/file") }
	home := func(file string) func(*Scene) string {
		return func(s *Scene) string { return filepath.Join(s.Home, file) }
	}
	tricks := func(name, about, act string, file func(*Scene) string) Probe {
		p := writes(name, about, file)
		p.act = act
		return p
	}
	return []Probe{
		writes("write-outside", "change a file outside of the workspace", outside),
		writes("write-home", "change a startup file in home (~/.bashrc)", home(".bashrc")),
		writes("write-toolchain", "change a program in a folder of PATH", home("go/bin/tool")),
		writes("write-state", "change the record of a run",
			func(s *Scene) string { return filepath.Join(s.State, "runs/log") }),
		writes("write-config", "change your configuration of Ralph",
			func(s *Scene) string { return filepath.Join(s.Config, "config.yaml") }),
		writes("write-agent-settings", "change the agent's own settings (~/.claude/settings.json)",
			home(".claude/settings.json")),
		writes("add-agent-settings", "add settings that the agent does not have yet", home(".claude/settings.local.json")),
		writes("write-agent-servers", "add a program that the agent's next session starts (~/.claude.json)",
			home(".claude.json")),
		writes("write-git-config", "change the repository's git config", home("project/.git/config")),
		writes("write-git-hooks", "add a git hook to the repository", home("project/.git/hooks/pre-commit")),
		tricks("replace-git-folder", "put another .git folder in the place of the repository's", "replace",
			home("project/.git/hooks/pre-commit")),
		writes("redirect-git", "let .git name another folder for configuration and hooks", home("project/.git/commondir")),
		tricks("symlink", "write through a link that points out of the workspace", "symlink", outside),
		tricks("hardlink", "give a file outside of the workspace a second name in it", "hardlink", outside),
		tricks("rename", "move a folder outside of the workspace, and put another in its place", "rename", outside),
		reads("read-ssh-key", "read a private key (~/.ssh)", ".ssh/id_ed25519"),
		reads("read-netrc", "read passwords (~/.netrc)", ".netrc"),
		reads("read-login", "read the login of another program in PATH (~/.docker)", ".docker/config.json"),
		reads("read-git-login", "read git's passwords (~/.config/git/credentials)", ".config/git/credentials"),
		reads("read-state", "read what Ralph keeps of a run", ".local/state/ralph/runs/key"),
		{Name: "read-shadow", About: "open the system's passwords (/etc/shadow)", act: "open",
			aim: func(context.Context, *Scene) (target, error) { return target{name: "/etc/shadow"}, nil }},
	}
}

func processProbes() []Probe {
	victim := func(name, about, act string, of func(pid string, s *Scene) target) Probe {
		return Probe{Name: name, About: about, act: act, aim: func(ctx context.Context, s *Scene) (target, error) {
			pid, _, err := s.victim(ctx, "")
			return of(pid, s), err
		}}
	}
	inWorkspace := func(name, about, act, file string) Probe {
		return Probe{Name: name, About: about, act: act, aim: func(_ context.Context, s *Scene) (target, error) {
			return target{name: filepath.Join(s.Workspace, file)}, nil
		}}
	}
	uses := func(name, about, act string, amount int) Probe {
		return Probe{Name: name, About: about, act: act, aim: func(context.Context, *Scene) (target, error) {
			return target{name: strconv.Itoa(amount)}, nil
		}}
	}
	return []Probe{
		victim("see-processes", "see other processes and their arguments", "processes",
			func(pid string, s *Scene) target { return target{name: pid, hit: s.said} }),
		victim("read-environment", "read the environment of Ralph in /proc", "read",
			func(pid string, s *Scene) target { return target{name: "/proc/" + pid + "/environ", hit: s.said} }),
		victim("ptrace", "debug Ralph", "ptrace", func(pid string, _ *Scene) target { return target{name: pid} }),
		{Name: "signal", About: "kill Ralph", act: "signal", aim: func(ctx context.Context, s *Scene) (target, error) {
			pid, killed, err := s.victim(ctx, "")
			return target{name: pid, hit: killed}, err
		}},
		{Name: "terminal", About: "type into your terminal (TIOCSTI)", act: "terminal", aim: aimAtTerminal},
		{Name: "kernel-setting", About: "change a setting of the kernel (/proc/sys)", act: "open-write",
			aim: func(context.Context, *Scene) (target, error) {
				return target{name: "/proc/sys/kernel/core_pattern"}, nil
			}},
		inWorkspace("mount", "mount a file system", "mount", ".git"),
		inWorkspace("mknod", "make the device of a disk", "mknod", "disk"),
		inWorkspace("setuid", "leave a setuid program in the workspace", "setuid", "program"),
		inWorkspace("user-namespace", "make a user namespace", "userns", ""),
		uses("processes", "start more processes than the limit", "fork", manyProcesses),
		uses("memory", "use more memory than the limit", "memory", muchMemory),
	}
}

func networkProbes() []Probe {
	probe := func(name, about, network string, address func(*Scene) (string, error)) Probe {
		return Probe{Name: name, About: about, act: network, aim: func(_ context.Context, s *Scene) (target, error) {
			at, err := address(s)
			if err != nil {
				return target{}, err
			}
			reached, arrived, err := s.listen(network, at)
			return target{name: reached, hit: arrived}, err
		}}
	}
	offline := func(p Probe) Probe {
		p.Name, p.About, p.offline = p.Name+"-off", p.About+", with --network off", true
		return p
	}
	loopback := func(*Scene) (string, error) { return "127.0.0.1:0", nil }
	local := probe("tcp-loopback", "connect to a service on this machine", "tcp", loopback)
	outside := probe("tcp", "connect by TCP to another address", "tcp", otherAddress)
	packet := probe("udp", "send by UDP to another address", "udp", otherAddress)
	return []Probe{
		local, outside, packet, offline(local), offline(outside), offline(packet),
		{Name: "metadata", About: "connect to the cloud's metadata (169.254.169.254)", act: "tcp", aim: aimAtMetadata},
		probe("unix", "connect to a socket in home, such as that of an SSH agent", "unix",
			func(s *Scene) (string, error) { return filepath.Join(s.Home, ".ssh/agent"), nil }),
		probe("unix-elsewhere", "connect to a socket in another folder", "unix",
			func(s *Scene) (string, error) { return filepath.Join(s.Outside, "socket"), nil }),
		probe("unix-abstract", "connect to an abstract socket", "unix",
			func(s *Scene) (string, error) { return "@" + s.token, nil }),
		probe("dbus", "connect to D-Bus, or a socket in the same place", "unix",
			func(s *Scene) (string, error) { return runtimeSocket(s, "dbus", "bus") }),
		probe("docker", "connect to Docker's socket, or one in the same place", "unix",
			func(s *Scene) (string, error) { return runtimeSocket(s, "docker", "docker.sock") }),
	}
}

// otherAddress returns an address of this machine that is not loopback.
func otherAddress(*Scene) (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, address := range addresses {
		if of, ok := address.(*net.IPNet); ok && of.IP.IsGlobalUnicast() {
			return net.JoinHostPort(of.IP.String(), "0"), nil
		}
	}
	return "", errors.New("this machine has only a loopback address")
}

// runtimeSocket returns a path for a socket in a folder of ours where services have theirs: /run for
// root, and the user's folder in it for others.
func runtimeSocket(s *Scene, service, name string) (string, error) {
	parent := "/run"
	if os.Geteuid() != 0 {
		parent = filepath.Join(parent, "user", strconv.Itoa(os.Geteuid()))
	}
	folder, err := os.MkdirTemp(parent, "ralph-"+service+"-")
	if err != nil {
		return "", errors.New("no folder for a socket can be made in " + parent)
	}
	s.cleanup = append(s.cleanup, func() { _ = os.RemoveAll(folder) })
	return filepath.Join(folder, name), nil
}
