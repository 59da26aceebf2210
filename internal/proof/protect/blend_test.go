package protect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/proof/protect"
)

const blendBase = `#![allow(dead_code)]
pub fn f() -> i32 { 1 }

/// Says what it tests.
#[test]
fn one() { assert_eq!(f(), 2) }

#[cfg(test)]
use std::{fmt, io};

pub fn g() {}

#[cfg(test)]
mod tests { // )
    #[test] fn two() {}
}`

func TestWithOldTests(t *testing.T) {
	now := "#![allow(dead_code)]\npub fn f() -> i32 { 2 }\n\n// Changed.\n#[test]\nfn one() {}\n\npub fn h() " +
		"{}\n#[cfg(test)] mod tests {}"
	want := "#![allow(dead_code)]\npub fn f() -> i32 { 2 }\n\n\n\npub fn h() {}\n" +
		"/// Says what it tests.\n#[test]\nfn one() { assert_eq!(f(), 2) }\n#[cfg(test)]\nuse std::{fmt, " +
		"io};\n#[cfg(test)]\nmod tests { // )\n    #[test] fn two() {}\n}\n"
	got, ok := protect.WithOldTests("src/lib.rs", []byte(blendBase), []byte(now))
	if diff := cmp.Diff(want, string(got)); diff != "" || !ok {
		t.Errorf("%v\n%s", ok, diff)
	}
}

func TestWithOldTestsIsOnlyForSources(t *testing.T) {
	for name, base := range map[string]string{
		"tests/a.rs":  blendBase,
		"a_test.go":   "package a\n",
		"src/none.rs": "pub fn f() {}\n",
		"src/deep.rs": "mod a { #[test] fn x() {} }\n",
		"src/new.rs":  "",
		"src/huge.rs": blendBase + strings.Repeat(" ", protect.Limit),
	} {
		if got, ok := protect.WithOldTests(name, []byte(base), []byte("pub fn f() {}\n")); ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}
