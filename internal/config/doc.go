// Package config turns files, environment and flags into one plain struct, and remembers where each value came from.
//
// There is one table, [Keys]. A row says what a key is called, what it may hold, what it is by default, which flag sets it and whether it names a
// command. Everything else is made from that table: the flags of `ralph run`, the environment names, the checks on a config file, `ralph config
// show` and the JSON schema of the file. A new key is one row and one field of [Settings].
//
// # Layers
//
// A value is taken from the highest layer that has it:
//
//	default      the table
//	profile      a bundle of defaults; it can be chosen by any layer above
//	user         $XDG_CONFIG_HOME/ralph/config.yaml
//	project      .ralph/config.yaml, or "config": the file that -c names in its place
//	environment  RALPH_MAX_ITERATIONS, RALPH_CHECKS__TIMEOUT (two underscores stand for the dot)
//	--set, flag  --set checks.timeout=5m, --check-timeout 5m; where both are given the flag holds
//
// Lists are replaced by a higher layer, never joined to it. In the environment and in --set a list is split at line breaks.
//
// # Files
//
// A config file is YAML: at most one document, at most 1 MiB, UTF-8. Keys are grouped as their names say (checks.timeout is "timeout" below
// "checks"); a scalar or list in a group's place sets the group's first key. A null leaves the key to the layers below. Unknown keys, keys given
// twice and values of the wrong kind are refused with file, line, column and the nearest right name.
//
// # Trust
//
// A project file comes with the repository, so the commands that it names are somebody else's until the user has agreed to them. [Loaded] lists
// those that would take effect. A file named with -c is the user's own word and needs no consent.
//
// # Environment
//
// This is the only package that reads the process's environment, and only [FromOS] does. Everything else works on the [Env] that it returns.
package config
