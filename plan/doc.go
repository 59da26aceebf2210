// Package plan reads, checks and owns task lists, whatever format they are written in.
package plan
