// Package probe finds out whether an installed agent CLI behaves as its dialect believes.
package probe
