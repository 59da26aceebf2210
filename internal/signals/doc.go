// Package signals carries the tool calls of an agent to the loop that runs it.
//
// The loop opens a [Server] for each iteration: a socket in a folder that only this user can enter,
// and a random token. Both are in the environment of the agent. A program that the agent starts, such
// as `ralph mcp`, sends each call with the token ([Door.Call]) and gets the answer of the loop.
//
// # What can go wrong
//
// A token is good for one iteration of one run: a process that is left over from an earlier iteration,
// or that belongs to another run, is refused. The folder has mode 0700, so other users cannot connect.
// Requests have a limit in size and time, and so has the number of calls, at once and in one iteration.
// When the agent has ended, the socket is gone, and calls that are being answered are canceled. A crash
// leaves only the folder, which has the run's id in its name: [Remove] removes it.
//
// A call carries words, never evidence. Whatever arrives here, the loop proves the work itself.
package signals
