//go:build linux && amd64

package faults

import (
	"slices"
	"strings"
)

// fault is what goes wrong at one system call.
type fault string

const (
	killBefore fault = "kill-before" // Ralph is killed before the call
	killAfter  fault = "kill-after"
	torn       fault = "torn"   // it is killed when half of the bytes are written
	noSpace    fault = "ENOSPC" // half of the bytes are written, and the rest fails
	noMore     fault = "full"   // from this call on nothing can be created or written, by git neither
	ioError    fault = "EIO"
	noAccess   fault = "EACCES"
)

var allFaults = []fault{killBefore, killAfter, torn, noSpace, noMore, ioError, noAccess}

// kills reports whether Ralph does not live to see the fault.
func (f fault) kills() bool { return f == killBefore || f == killAfter || f == torn }

// injection is a fault at a call.
type injection struct {
	fault fault
	at    string // the key of the call
	begun bool   // the call was reached
	over  bool   // nothing more will happen
}

// hits reports whether the fault strikes a call.
func (i *injection) hits(c call) bool {
	if i.over {
		return false
	}
	first := !i.begun && c.Key == i.at
	i.begun = i.begun || first
	return first || i.fault == noMore && i.begun && c.takesSpace()
}

// The calls that fail if the disk is full, and those that fail without permission.
var (
	spaceTakers = []string{
		"write", "pwrite64", "writev", "pwritev", "copy_file_range", "sendfile", "fallocate", "create", "mkdir", "link",
		"symlink",
	}
	permitted = []string{"open", "create", "truncate", "chmod", "mkdir", "rmdir", "unlink", "rename", "link", "symlink"}
)

func (c call) takesSpace() bool { return slices.Contains(spaceTakers, c.Name) && !c.isOutput() }

// isOutput reports whether a call writes what Ralph prints.
func (c call) isOutput() bool { return strings.HasPrefix(c.Path, outputFolder+"/") }

// faults returns what can go wrong at a call. What Ralph prints can only be lost.
func (c call) faults() []fault {
	if c.isOutput() {
		return []fault{noSpace, ioError}
	}
	possible := []fault{killBefore, killAfter}
	if c.Program == ofGit && c.Name == "unlink" && strings.HasSuffix(c.Path, ".lock") {
		return possible // a lock that cannot be removed is like one that a killed git left
	}
	possible = append(possible, ioError)
	if c.Size > 1 {
		possible = append(possible, torn)
	}
	if c.takesSpace() {
		possible = append(possible, noSpace, noMore)
	}
	if c.Name == "rename" { // a folder may have to grow
		possible = append(possible, noSpace)
	}
	if slices.Contains(permitted, c.Name) {
		possible = append(possible, noAccess)
	}
	return possible
}
