#!/bin/sh
# lines.sh LCPLAN BASE_PLAN UNIFORM_PLAN WORK_DIR: the command, line by line: answers as they are asked for, bad lines answered and
# passed over, the same bytes again.
set -u
lcplan=$1 base=$2 uniform=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

printf '%s\n' '[9000, 500, 300, 20000]' 'nonsense' '{"lengths_tokens": [9000, 500, 300, 20000]}' '' '[1, 2, 0]' >in
printf '[4096, 12]' >>in # the last line needs no end
"$lcplan" stream "$base" <in >out 2>err || fail "exit status $?"
[ ! -s err ] || fail "on standard error: $(cat err)"
[ "$(wc -l <out)" = 6 ] || fail "$(wc -l <out) lines, expected 6"
for line in 1 3 6; do
    sed -n "${line}p" out | grep -Eq '^\{"sequences":\[.*"chunks":\[.*"schedule":\{.*"predicted":\{.*\}$' || fail "line $line"
done
for line in 2 4 5; do
    sed -n "${line}p" out | grep -Eq '^\{"error":"line.*"\}$' || fail "line $line is no error"
done
[ "$(sed -n 1p out)" = "$(sed -n 3p out)" ] || fail 'two forms of one batch differ'
"$lcplan" stream "$base" <in >again || fail "exit status $?"
cmp -s out again || fail 'other bytes the second time'

# An answer comes before the next question: the pipe stays open until it is read.
mkfifo questions answers
"$lcplan" stream "$base" <questions >answers &
exec 3>questions 4<answers
echo '[700, 80]' >&3
IFS= read -r first <&4
echo '[800, 80]' >&3
IFS= read -r second <&4
exec 3>&- 4<&-
wait $! || fail "exit status $?"
case $first in '{"sequences":[{"sequence":0,"length_tokens":700}'*) ;; *) fail "first answer: $first" ;; esac
case $second in '{"sequences":[{"sequence":0,"length_tokens":800}'*) ;; *) fail "second answer: $second" ;; esac

status() {
    want=$1
    shift
    "$@" >/dev/null 2>err </dev/null
    got=$?
    [ "$got" = "$want" ] || fail "$*: exit status $got, expected $want"
}
status 0 "$lcplan" stream "$base"
status 2 "$lcplan" stream
status 2 "$lcplan" stream -
status 3 "$lcplan" stream in
status 3 "$lcplan" stream "$uniform"
grep -q 'one recompute setting' err || fail "uniform recompute: $(cat err)"
status 6 "$lcplan" stream no-such-file
"$lcplan" stream "$base" <. >/dev/null 2>err
[ $? = 6 ] || fail 'a folder as standard input is not seen'
"$lcplan" stream "$base" <in >/dev/full 2>err
[ $? = 6 ] || fail 'a full device is not seen'
echo "$failures failed"
[ "$failures" = 0 ]
