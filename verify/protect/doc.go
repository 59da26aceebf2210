// Package protect says which files of a workspace matter to checks, and what a change to one of them means. It is pure:
// it gets names and, where a name is not enough, asks for the content of a file.
package protect
