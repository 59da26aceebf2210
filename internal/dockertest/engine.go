// Package dockertest starts a Docker engine for tests, with an image of BusyBox. Nothing is downloaded.
package dockertest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/containment"
)

// Engine is an engine of its own, on a private socket. Its containers have no network.
type Engine struct {
	Env []string // with which a client reaches it
}

// Missing says what this machine lacks to start an engine; "" if it lacks nothing.
func Missing() string {
	_, noDaemon := exec.LookPath("dockerd")
	_, noBusyBox := os.Stat(busyBox)
	if noDaemon != nil || noBusyBox != nil || os.Geteuid() != 0 {
		return "needs root, docker.io and busybox-static"
	}
	return ""
}

const busyBox = "/bin/busybox"

// Start starts an engine that has the image of custom commands, and stops it after the test. The client's
// environment is env.
func Start(t testing.TB, env []string) Engine {
	t.Helper()
	folder, err := os.MkdirTemp("", "dockertest-") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	socket := "unix://" + folder + "/sock"
	e := Engine{append(env[:len(env):len(env)], "DOCKER_HOST="+socket, "HOME="+t.TempDir())}
	var log bytes.Buffer
	daemon := exec.Command("dockerd", "--data-root", folder+"/data", "--exec-root", folder+"/exec",
		"--pidfile", folder+"/pid", "--host", socket, "--bridge=none", "--iptables=false", "--storage-driver=vfs")
	daemon.Stdout, daemon.Stderr = &log, &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		_ = os.RemoveAll(folder)
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := e.Docker("version")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the engine does not answer: %v\n%s", err, log.String())
		}
	}
	if err := e.importImage(); err != nil {
		t.Fatal(err)
	}
	return e
}

// Docker calls the client, and returns what it printed.
func (e Engine) Docker(args ...string) (string, error) {
	cmd := exec.Command("docker", args...)
	cmd.Env = e.Env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// importImage makes the image of custom commands: a shell and its tools, without any other file.
func (e Engine) importImage() error {
	program, err := os.ReadFile(busyBox)
	if err != nil {
		return err
	}
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	add := func(h tar.Header, content []byte) {
		h.Size = int64(len(content))
		_ = w.WriteHeader(&h) // an error stays, and Close returns it
		_, _ = w.Write(content)
	}
	for _, name := range []string{"./", "bin/"} {
		add(tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeDir}, nil)
	}
	add(tar.Header{Name: "bin/busybox", Mode: 0o755}, program)
	for _, name := range strings.Fields("sh cat echo env head id ls printf sleep tail touch true") {
		add(tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox"}, nil)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("make an image: %w", err)
	}
	cmd := exec.Command("docker", "import", "-", containment.ImageOf("command"))
	cmd.Env, cmd.Stdin = e.Env, &image
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("import an image: %w\n%s", err, out)
	}
	return nil
}
