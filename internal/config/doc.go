// Package config turns files, environment and flags into one plain struct, and records where each
// value came from.
//
// There is one table, [Keys]. Each row has a key's name, its allowed values, its default, the flag
// that sets it, and whether it names a command. Everything else is derived from that table: the
// flags of `ralph run`, the environment variables, the validation of a config file, `ralph config
// show` and the JSON schema of the file. A new key is one row and one field of [Settings].
//
// # Layers
//
// A value comes from the highest layer that sets it:
//
//	default      the table
//	profile      a set of defaults; any layer above can choose it
//	user         $XDG_CONFIG_HOME/ralph/config.yaml
//	project      .ralph/config.yaml, or "config": the file that -c names instead
//	environment  RALPH_MAX_ITERATIONS, RALPH_CHECKS__TIMEOUT (two underscores stand for the dot)
//	--set, flag  --set checks.timeout=5m, --check-timeout 5m; the flag wins over --set
//
// A list in a higher layer replaces the whole list of a lower one. In the environment and in --set,
// a list has one item per line.
//
// # Files
//
// A config file is YAML in UTF-8, with at most one document and at most 1 MiB. A dot in a key's
// name is a level of nesting: checks.timeout is "timeout" below "checks". A scalar or list in place
// of a group sets the group's first key. A null leaves the key to the layers below. Unknown keys,
// duplicate keys and values of the wrong kind are errors with file, line and column; an unknown key
// gets the nearest known name as a hint.
//
// # Trust
//
// A project file comes with the repository, so the user has to agree to the commands that it names.
// [Loaded] lists those that would take effect. A file named with -c is the user's own choice and
// needs no consent.
//
// # Environment
//
// This is the only package that reads the process's environment, and it does so only in [FromOS].
// Everything else works on the [Env] that FromOS returns.
package config
