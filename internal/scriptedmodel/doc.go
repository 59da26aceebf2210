// Package scriptedmodel is a model server that says what a script says.
package scriptedmodel
