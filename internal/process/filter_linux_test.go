//go:build amd64 || arm64

package process

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func init() {
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
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
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
