#!/bin/sh
# man.sh LCPLAN SOURCE_DIR: the manual has every command, option, kind and exit status of the program and no other option.
set -u
lcplan=$1 page=$2/docs/lcplan.1
failures=0

fail() {
    echo "$*"
    failures=1
}

plain=$(sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' "$page")
# whole words
has() {
    printf '%s\n' "$plain" | grep -Eq -- "(^|[^a-z-])$1([^a-z-]|\$)"
}

for command in $("$lcplan" list commands | cut -d' ' -f1); do
    has "$command" || fail "no command $command in the manual"
    "$lcplan" "$command" --help | grep -Eo -- '--[a-z][a-z-]*'
done | sort -u >options
grep '^no command' options && fail 'commands are missing'
grep '^--' options | while read -r option; do
    has "$option" || echo "$option"
done >missing
[ ! -s missing ] || fail "not in the manual: $(cat missing)"
printf '%s\n' "$plain" | grep -Eo -- '(^|[ ,])--[a-z][a-z-]+' | tr -d ' ,' | sort -u | while read -r option; do
    [ "$option" = --version ] || [ "$option" = --name ] || grep -qx -- "$option" options || echo "$option"
done >unknown
[ ! -s unknown ] || fail "in the manual, not in the program: $(cat unknown)"
for kind in $("$lcplan" list | cut -d' ' -f1); do
    has "$kind" || fail "no kind $kind in the manual"
done
for status in $("$lcplan" list statuses | cut -d' ' -f1); do
    has "B $status" || fail "no exit status $status in the manual"
done
if command -v man >/dev/null; then
    warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || fail "$warnings"
fi
exit $failures
