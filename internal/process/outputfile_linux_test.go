package process

import (
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

// TestOutputFileBehindTap: the error of a file that a tap writes reads like that of the file of a sink.
func TestOutputFileBehindTap(t *testing.T) {
	file, err := CreateOutput("stdout", "/dev/full", 100)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := runEither(t.Context(), Spec{Argv: Shell("echo ready; exec sleep 600"), Stdout: Sink{Tap: file}, Grace: -1})
	want := &IOError{Op: "write stdout file", Path: "/dev/full", Err: syscall.ENOSPC}
	if !reflect.DeepEqual(err, error(want)) || got.State != Aborted {
		t.Errorf("%s, error = %v, want %v", got.State, err, want)
	}
}

func TestOutputFileCannotBeCreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "file")
	file, err := CreateOutput("stdout", path, 100)
	want := &IOError{Op: "create stdout file", Path: path, Err: syscall.ENOENT}
	if file != nil || !reflect.DeepEqual(err, error(want)) {
		t.Errorf("got %v, %v, want %v", file, err, want)
	}
}
