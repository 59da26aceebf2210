#!/bin/sh
# The check: every title must give its slug.
failed=0
expect() {
	got=$(sh ./slugify.sh "$1")
	if [ "$got" != "$2" ]; then
		echo "slugify \"$1\": got \"$got\", want \"$2\""
		failed=1
	fi
}
expect "Hello" "hello"
expect "Hello World" "hello-world"
expect "What's new, Ralph?" "whats-new-ralph"
[ "$failed" -eq 0 ] && echo "3 titles, all correct"
exit "$failed"
