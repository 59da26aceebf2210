#!/bin/sh
# slugify.sh TITLE: prints the title as it appears in a URL.
printf '%s\n' "$1"
