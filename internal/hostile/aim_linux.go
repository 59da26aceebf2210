package hostile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralphloop/ralph/internal/process"
)

// aimAtTerminal makes a terminal in which a process works, and looks whether something was typed into it.
func aimAtTerminal(ctx context.Context, s *Scene) (target, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return target{}, err
	}
	s.cleanup = append(s.cleanup, func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return target{}, err
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return target{}, err
	}
	name := "/dev/pts/" + strconv.Itoa(number)
	terminal, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return target{}, err
	}
	s.cleanup = append(s.cleanup, func() { _ = unix.Close(terminal) })
	if _, _, err := s.victim(ctx, name); err != nil {
		return target{}, err
	}
	return target{name: name, hit: func(string) bool {
		typed, err := unix.IoctlGetInt(terminal, unix.TIOCINQ)
		return err == nil && typed > len(s.token)
	}}, nil
}

// metadataAddress is where clouds tell a machine about itself, with its credentials.
const metadataAddress = "169.254.169.254"

// aimAtMetadata lets the attacker start in a network of its own, which has that address. The network of
// this machine stays as it is.
func aimAtMetadata(_ context.Context, s *Scene) (target, error) {
	if os.Geteuid() != 0 {
		return target{}, errors.New("only root can have that address")
	}
	seen := filepath.Join(s.Outside, "metadata")
	return target{name: metadataAddress + ":80", hit: s.wrote(seen), enter: []string{"metadata", seen, s.token}}, nil
}

// WithMetadata starts a command in a network of its own, with a server at the address of the cloud's
// metadata. It writes what the server received to a file.
func WithMetadata(ctx context.Context, seen string, argv, env []string) error {
	runtime.LockOSThread() // the network belongs to this thread and what it starts
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network: %w", err)
	}
	if err := addLoopback(metadataAddress); err != nil {
		return fmt.Errorf("add %s: %w", metadataAddress, err)
	}
	listener, err := net.Listen("tcp", metadataAddress+":80")
	if err != nil {
		return err
	}
	defer listener.Close()
	ended, err := process.Run(ctx, process.Spec{Argv: argv, Env: env, Timeout: attackTimeout})
	if err != nil {
		return err
	}
	if ended.ExitCode != 0 {
		return errors.Join(ended.StartError, fmt.Errorf("the attack ended with %d", ended.ExitCode))
	}
	if tcp, ok := listener.(*net.TCPListener); ok {
		_ = tcp.SetDeadline(time.Now().Add(arrival))
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	message := make([]byte, 100)
	n, err := conn.Read(message)
	if err != nil {
		return err
	}
	return os.WriteFile(seen, message[:n], 0o600)
}

// addLoopback makes the loopback device of this network work, with one more address.
func addLoopback(address string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	device.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, device); err != nil {
		return err
	}
	alias, err := unix.NewIfreq("lo:1")
	if err != nil {
		return err
	}
	if err := alias.SetInet4Addr(net.ParseIP(address).To4()); err != nil {
		return err
	}
	return unix.IoctlIfreq(socket, unix.SIOCSIFADDR, alias)
}
