#!/bin/sh
# What a plan goes through: written, shown, verified, broken; no plan, limits, output that cannot be written.
. "$(dirname "$0")/lib.sh"

model=$models/llama-3.2-1b.json
workload=$source/tests/install/workload.json
small="--model $model --cluster h100-sxm:1x4 --workload $workload"

# Options are words to be split.
# shellcheck disable=SC2086
plan() {
    status=$1 out=$2 err=$3
    shift 3
    expect "$status" "$out" "$err" plan $small "$@"
}

plan 0 '"format": "lcplan.plan/1"' '^iteration '
cp stdout first.json
plan 0 - '^iteration ' -o plan.json
cmp -s first.json plan.json || fail 'standard output and -o differ'
plan 0 - - --quiet --output=plan.json
cmp -s first.json plan.json || fail 'the same inputs give other bytes'
plan 0 - - --quiet --threads 3 -o plan.json
cmp -s first.json plan.json || fail 'the number of threads changes the plan'
plan 0 '"iteration_seconds": ' '^iteration ' --json -o plan.json
plan 0 - 'where the iteration goes' --explain -o plan.json
plan 0 '\["F", 0, 0, 0,' - --quiet --times
plan 0 '"tp": 2' - --quiet --tp 2
plan 0 '"pp": 4' - --quiet --pp=4 --gap=0.5
plan 0 '"zero_stage": 0' - --quiet --zero 0 --dp 1,2 --tp=auto
plan 0 '"schedule": \{?' - --quiet --schedule 1f1b --no-slicing --recompute full --uniform-recompute --equal-layers
plan 0 '"stopped_by": "(candidates|gap|exhausted)"' - --quiet --max-candidates 1

expect 0 '^ok: first.json: ' - verify first.json
expect 0 '"holds": true' - verify --json first.json
expect 0 - - verify --quiet first.json
expect 0 '^ok' - verify first.json --model "$model" --cluster h100-sxm:1x4 --workload "$workload"
expect 1 - 'inputs\.model.*SHA-256' verify first.json --model "$models/gpt2-xl.json"
expect 1 - 'inputs\.cluster' verify first.json --cluster h100-sxm:2x4
expect 0 '^iteration ' - show first.json
expect 0 '"iteration_seconds": ' - show --json first.json

# broken EXPRESSION: the plan with something changed no longer holds, and verify says where
broken() {
    sed -E "$1" first.json >broken.json
    cmp -s first.json broken.json && fail "$1 changes nothing"
    expect 1 - '^lcplan: broken\.json: \$\.' verify broken.json
    expect 1 '"holds": false' '^lcplan: broken\.json: \$\.' verify --json broken.json
}
broken 's/("iteration_seconds": )[0-9.e-]+/\10.001/'
broken 's/("peak_memory_bytes": )[0-9]+/\15/'
broken '0,/"offset_tokens": 0/s//"offset_tokens": 64/'
broken 's/("lower_bound_seconds": )[0-9.e-]+/\1999/'
sed 's/"generator"/"genorator"/' first.json >unknown.json
expect 3 - 'unknown\.json.*genorator' verify unknown.json
head -c 3000 first.json >cut.json
expect 3 - 'cut\.json' verify cut.json

# No plan: the limit that binds and what would help. One device cannot hold the states of 70 thousand million.
expect 4 - '^lcplan: memory: no plan fits.*fit' plan --model "$models/llama-3.1-70b.json" --cluster h100-sxm:1x1 \
    --sequence-length 4096 --global-batch 1
expect 4 - 'heads' plan --model "$model" --cluster h100-sxm:1x64 --workload "$workload" --tp 64
expect 4 - 'cannot be multiplied' plan --model "$model" --cluster h100-sxm:1x4 --workload "$workload" --tp 3

# Output that cannot be written leaves nothing behind.
plan 6 - 'no/such/folder' --quiet -o no/such/folder/plan.json
plan 6 - '/dev/full.*No space' --quiet -o /dev/full
mkdir folder
plan 6 - 'folder' --quiet -o folder
ls | grep -q tmp && fail 'a temporary file is left'

# Standard output that is full or closed.
for words in --help 'list devices' "show $model" "plan --quiet $small"; do
    checks=$((checks + 2))
    # shellcheck disable=SC2086
    "$lcplan" $words >/dev/full 2>stderr
    [ $? = 6 ] || fail "lcplan $words >/dev/full: not 6"
    # shellcheck disable=SC2086
    "$lcplan" $words >&- 2>stderr
    [ $? = 6 ] || fail "lcplan $words >&-: not 6"
done

# Without any standard stream a plan is still written where it should be.
"$lcplan" plan --quiet $small -o closed.json <&- >&- 2>&-
cmp -s first.json closed.json || fail 'closed standard streams spoil the file'
finish
