# Sourced by the tests of the command line: test.sh LCPLAN SOURCE_DIR WORK_DIR.
set -u
lcplan=$1 source=$2 work=$3
models=$source/examples/models
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failures=0
checks=0

fail() {
    echo "FAILED: $*"
    sed 's/^/    stderr: /' stderr | head -5
    failures=$((failures + 1))
}

# expect STATUS STDOUT_PATTERN STDERR_PATTERN WORD...: exit status and extended regular expressions; '-' = nothing printed.
expect() {
    want=$1 out=$2 err=$3
    shift 3
    checks=$((checks + 1))
    "$lcplan" "$@" >stdout 2>stderr </dev/null
    got=$?
    [ "$got" = "$want" ] || fail "lcplan $*: exit status $got, expected $want"
    match "$out" stdout "$*"
    match "$err" stderr "$*"
    if [ "$want" != 0 ]; then
        [ "$(wc -l <stderr)" = 1 ] || fail "lcplan $*: more than one line on standard error"
    fi
}

match() {
    if [ "$1" = - ]; then
        [ ! -s "$2" ] || fail "lcplan $3: something on $2"
    else
        grep -Eq -- "$1" "$2" || fail "lcplan $3: no '$1' on $2"
    fi
}

finish() {
    echo "$checks checks, $failures failed"
    [ "$failures" = 0 ]
}
