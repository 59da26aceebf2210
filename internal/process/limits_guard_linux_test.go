//go:build amd64 || arm64

package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func init() {
	roles["connect-at-once"] = connectAtOnce
}

// connectAtOnce waits in a number of connections to a server that does not answer, which are its first two
// arguments, and then connects to the server that is its third argument.
func connectAtOnce(args []string) int {
	count, err1 := strconv.Atoi(args[0])
	silent, err2 := strconv.Atoi(args[1])
	if err1 != nil || err2 != nil {
		return 3
	}
	for range count {
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			return 3
		}
		go func() { _ = syscall.Connect(socket, &syscall.SockaddrInet4{Port: silent, Addr: [4]byte{127, 0, 0, 1}}) }()
	}
	const begun = 2 // TCP_SYN_SENT
	row := fmt.Sprintf("0100007F:%04X %02X", silent, begun)
	for {
		table, _ := os.ReadFile("/proc/net/tcp")
		if strings.Count(string(table), row) >= count {
			break
		}
		time.Sleep(time.Millisecond)
	}
	conn, err := net.DialTimeout("tcp", args[2], 5*time.Second)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	conn.Close()
	fmt.Println("reached")
	return 0
}

// silentServer returns the port of a server that answers no further connection: its queue is full.
func silentServer(t *testing.T) int {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(socket) })
	address := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Bind(socket, address); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(socket, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	port := bound.(*syscall.SockaddrInet4).Port
	first, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.Close() })
	return port
}

// TestAGuardOutlivesTheLimitOfItsTree: every connection that the guard makes needs a thread. The tree has room
// for its own threads, but not for those of the guard, too.
func TestAGuardOutlivesTheLimitOfItsTree(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const connections, most = 40, 60
	var said strings.Builder
	got, err := Run(context.Background(), Spec{
		Argv: play("connect-at-once", strconv.Itoa(connections), strconv.Itoa(silentServer(t)), server.Addr().String()),
		Dir:  t.TempDir(), Env: os.Environ(), Guarded: true, Filtered: true, Limits: Limits{Processes: most},
		Timeout: time.Minute, Stdout: Sink{Tap: &said}, StderrToStdout: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	skipWithoutGroups(t, got)
	want := Result{State: Exited, StdoutBytes: int64(len("reached\n"))}
	if diff := cmp.Diff(want, steady(got)); diff != "" {
		t.Errorf("Run (-want +got):\n%s\n%s", diff, said.String())
	}
}
