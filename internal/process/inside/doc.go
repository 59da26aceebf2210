// Package inside is the part of package process that runs inside an enclosure, in a second process
// of this very program: it makes the mounts and the edits, and then becomes the wanted program.
//
// That process must not pay for the initialization of the whole program, which takes longer than
// the rest of its work. Go initializes packages in the order of their import paths, each as soon as
// everything that it imports is initialized. So this package imports only os and what os itself
// imports: its turn comes right after os, before nearly everything else in the program, be it the
// command, a test or a program that embeds the library. That is why there is no fmt, no strings and
// no encoding/json here. A test holds it.
package inside
