#!/bin/sh
# SIGINT during a search: the best plan so far, marked so, and it holds.
. "$(dirname "$0")/lib.sh"

# A background job of a shell ignores SIGINT, a child of timeout does not. No plan yet when the signal comes: wait longer.
for wait in 0.2 0.5 1 2 4 8 16; do
    checks=$((checks + 1))
    timeout --foreground -s INT --preserve-status $wait "$lcplan" plan --gap 0 --model "$models/llama-3.1-405b.json" \
        --cluster h100-sxm:128x8 --workload "$source/examples/workloads/code-1m.json" -o plan.json 2>stderr </dev/null
    status=$?
    [ "$status" = 5 ] || break
done
[ "$status" = 0 ] || fail "exit status $status after SIGINT"
grep -q '"stopped_by": "interrupted"' plan.json || fail 'the plan does not say that it was interrupted'
expect 0 '^ok' - verify plan.json
finish
