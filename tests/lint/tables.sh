#!/bin/sh
# tables.sh LCPLAN SOURCE_DIR WORK_DIR: docs/tables.md says what the program's tables say. To bring it up to date after
# adding a row: copy WORK_DIR/tables.md over it.
set -eu
lcplan=$1 source=$2 work=$3
mkdir -p "$work"
{
    echo '# Tables'
    echo
    echo 'Everything that can be named is a row of a table; `lcplan list KIND` prints it. A test keeps this page equal to it.'
    "$lcplan" list --json | tr -d '\n' | sed 's/}, *{/}\n{/g' | sed -E 's/.*"name": "([^"]*)", *"help": "([^"]*)".*/\1 \2/' |
        while read -r kind help; do
            printf '\n## %s\n\n%s.\n\n| name | meaning |\n|---|---|\n' "$kind" "$help"
            "$lcplan" list "$kind" | sed -E 's/\|/\\|/g; s/^([^ ]+) +(.*)$/| `\1` | \2 |/'
        done
} >"$work/tables.md"
diff -u "$source/docs/tables.md" "$work/tables.md"
