// Package hostile is a program that attacks the machine it runs on, and what is needed to see from the
// outside whether a sandbox stopped it.
//
// The attacker is this program itself, started again as [Attack] in a tier. It is told one act and its
// target, and makes no secret of the result. A [Probe] is one attack with its target: [Examine] makes a
// scratch home, state folder and workspace for each attempt, starts the attacker, and looks at the
// target from the outside. Every probe is tried without a sandbox first. What does not work there says
// nothing about a sandbox, and counts as not tried.
//
// No attack touches a file of the user, and nothing leaves the machine.
package hostile
