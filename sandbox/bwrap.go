package sandbox

// encloseBwrap uses namespaces for processes, messages and mounts. The command has no capabilities, no
// terminal to type into, and dies with its parent.
func encloseBwrap(c Command, w Wall) Command {
	argv := []string{"bwrap", "--die-with-parent", "--new-session", "--unshare-pid"}
	if !w.Thin {
		argv = append(argv, "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	}
	argv = append(argv, "--cap-drop", "ALL")
	if w.Network == Off {
		argv = append(argv, "--unshare-net")
	}
	if w.Thin {
		argv = append(argv, thinBwrap(w.Root)...)
	} else {
		argv = append(argv, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	}
	for _, path := range kernelSettings {
		argv = append(argv, "--ro-bind-try", path, path)
	}
	for _, r := range w.Rules {
		switch r.Access {
		case Link:
			argv = append(argv, "--symlink", r.From, r.Path)
		case Hide:
			argv = append(argv, "--tmpfs", r.Path)
		case Read:
			argv = append(argv, "--ro-bind", r.source(), r.Path)
		case Write:
			argv = append(argv, "--bind", r.source(), r.Path)
		}
	}
	if c.Dir != "" {
		argv = append(argv, "--chdir", c.Dir)
	}
	c.Argv = append(append(argv, "--"), c.Argv...)
	return c
}

// kernelSettings change the machine. Root writes to them without any capability.
var kernelSettings = []string{"/proc/acpi", "/proc/bus", "/proc/irq", "/proc/scsi", "/proc/sys", "/proc/sysrq-trigger"}

// rootRights are the capabilities that programs of root expect, without those that lead out of a mount
// namespace.
var rootRights = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETGID",
	"CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// devices are what a program may use beside the usual ones. None of them leads to a disk.
var devices = []string{"/dev/dri", "/dev/fuse", "/dev/kvm", "/dev/net", "/dev/shm"}

// thinBwrap shows the machine as it is, without the devices of disks.
func thinBwrap(root bool) (argv []string) {
	if root {
		for _, name := range rootRights {
			argv = append(argv, "--cap-add", name)
		}
	}
	argv = append(argv, "--bind", "/", "/", "--dev", "/dev")
	for _, path := range devices {
		argv = append(argv, "--dev-bind-try", path, path)
	}
	return append(argv, "--proc", "/proc")
}
