// Package inside is the part of package process that runs inside an enclosure, in a second process
// of this program: it creates the mounts and the edits, and then executes the actual program.
//
// That process must not pay for the initialization of the whole program, which takes longer than
// the rest of its work. Go initializes packages in the order of their import paths, each as soon as
// everything that it imports is initialized. So this package imports only os and what os itself
// imports: it is initialized right after os, before almost everything else in the program, be it
// the command, a test or a program that embeds the library. That is why it uses no fmt, no strings
// and no encoding/json. A test checks that.
package inside
