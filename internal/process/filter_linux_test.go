//go:build amd64 || arm64

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	roles["connect-interrupted"] = connectInterrupted
	if len(os.Args) == 3 && os.Args[1] == "connect" { // this program plays the tree
		conn, err := net.DialTimeout("tcp", os.Args[2], 5*time.Second)
		if err != nil {
			_, _ = os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		conn.Close()
		os.Exit(0)
	}
}

// A tree whose connections its guard makes reaches servers, hears why others do not answer, and never
// reaches the metadata server of a cloud.
func TestFilteredConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go acceptAll(listener)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for name, c := range map[string]struct {
		address, says string
		code          int
	}{
		"a server":                {listener.Addr().String(), "", 0},
		"no server":               {gone.Addr().String(), "connection refused", 1},
		"metadata":                {"169.254.169.254:80", "permission denied", 1},
		"metadata, mapped":        {"[::ffff:169.254.169.254]:80", "permission denied", 1},
		"metadata, translated":    {"[64:ff9b::169.254.169.254]:80", "permission denied", 1},
		"metadata by IPv6":        {"[fd00:ec2::254]:80", "permission denied", 1},
		"metadata of containers":  {"169.254.170.2:80", "permission denied", 1},
		"metadata of other cloud": {"100.100.100.200:80", "permission denied", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			ended, err := Run(context.Background(), Spec{
				Argv: []string{self, "connect", c.address}, Guarded: true, Filtered: true,
				Stdout: Sink{Tap: &said}, StderrToStdout: true, Timeout: time.Minute,
			})
			if err != nil || ended.ExitCode != c.code || !strings.Contains(said.String(), c.says) {
				t.Errorf("%d, %q, %v, %v; want %d and %q", ended.ExitCode, said.String(), ended.StartError, err, c.code, c.says)
			}
		})
	}
}

func acceptAll(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		conn.Close()
	}
}

// connectInterrupted begins connections to the server that is its argument, while signals arrive.
func connectInterrupted(args []string) int {
	server := netip.MustParseAddrPort(args[0])
	address := &syscall.SockaddrInet4{Port: int(server.Port()), Addr: server.Addr().As4()}
	runtime.LockOSThread()
	self, thread := os.Getpid(), syscall.Gettid()
	go func() {
		for { // the runtime has a handler for this signal
			_ = unix.Tgkill(self, thread, unix.SIGURG)
		}
	}()
	for range 1500 {
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if err := syscall.Connect(socket, address); err != nil && !errors.Is(err, syscall.EINPROGRESS) {
			fmt.Println(err)
			return 1
		}
		syscall.Close(socket)
	}
	return 0
}

// TestAnInterruptedConnectIsMadeOnce: a program that a signal interrupts while the guard connects would ask a
// second time, and hear that the socket is already connected, or about to be.
func TestAnInterruptedConnectIsMadeOnce(t *testing.T) {
	if !kernelIsAtLeast(t, 5, 19) {
		t.Skip("this kernel lets signals interrupt a program that waits for its guard")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go acceptAll(listener)
	var said strings.Builder
	ended, err := Run(context.Background(), Spec{
		Argv: play("connect-interrupted", listener.Addr().String()), Guarded: true, Filtered: true,
		Stdout: Sink{Tap: &said}, StderrToStdout: true, Timeout: time.Minute,
	})
	if err != nil || ended.ExitCode != 0 {
		t.Errorf("%d, %q, %v, %v", ended.ExitCode, said.String(), ended.StartError, err)
	}
}

func kernelIsAtLeast(t *testing.T, major, minor int) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var gotMajor, gotMinor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &gotMajor, &gotMinor); err != nil {
		t.Fatal(err)
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}
