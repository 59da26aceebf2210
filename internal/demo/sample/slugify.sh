#!/bin/sh
# slugify.sh TITLE: prints the title as it would stand in a URL.
printf '%s\n' "$1"
