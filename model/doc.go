// Package model knows models: what their tokens cost.
package model
