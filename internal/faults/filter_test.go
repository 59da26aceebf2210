//go:build linux && amd64

package faults

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startVariable makes the test program install the filter and become the program that it names.
const startVariable = "FAULTS_START"

// become installs the filter and runs a program in place of this one.
func become(program string) error {
	runtime.LockOSThread() // the filter is the thread's, and the program inherits it
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	instructions := filter()
	code := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&code)), 0, 0); err != nil {
		return fmt.Errorf("install filter: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, startVariable+"=") })
	return syscall.Exec(program, os.Args, env)
}

// Offsets in the kernel's struct seccomp_data.
const (
	numberAt = 0
	argsAt   = 16
)

// filter returns a seccomp filter that stops a thread for its tracer at write-class calls. Everything
// else runs at full speed: without it there are a hundred times as many stops.
func filter() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	ret := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	// unless skips the next n instructions unless the number, or a bit of the argument, is as given.
	unless := func(test uint16, value uint64, n uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: uint32(value), Jf: n}
	}
	code := []unix.SockFilter{load(numberAt)}
	for _, number := range slices.Sorted(maps.Keys(writing)) {
		if number == unix.SYS_OPENAT || number == unix.SYS_OPEN { // only to write
			flags := uint32(argsAt + 8*(writing[number].text+1))
			code = append(code, unless(unix.BPF_JEQ, number, 4), load(flags),
				unless(unix.BPF_JSET, writeFlags, 1), ret(unix.SECCOMP_RET_TRACE), ret(unix.SECCOMP_RET_ALLOW))
			continue
		}
		code = append(code, unless(unix.BPF_JEQ, number, 1), ret(unix.SECCOMP_RET_TRACE))
	}
	return append(code, ret(unix.SECCOMP_RET_ALLOW))
}
