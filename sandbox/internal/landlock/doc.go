// Package landlock restricts this process by the kernel's Landlock rules, and then executes a program.
//
// It takes over early in a second process of this program, like package inside of internal/process, and
// for the same reason imports only os and what os imports: that process must not pay for the
// initialization of the whole program. That is also why it makes the three system calls itself.
//
// Its arguments are rules ("write:/work", "read:/usr", "hide:/root"), "--", and the program. The longest
// path decides; what no rule names can be read. The kernel knows only what is allowed below a path, so a
// hidden folder means that its neighbours are allowed one by one. What appears beside it later cannot be
// read.
package landlock
