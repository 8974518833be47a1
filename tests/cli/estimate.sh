#!/bin/sh
# Estimates of one configuration and of tables, calibration, profiles in plans and checks of plans.
. "$(dirname "$0")/lib.sh"

data=$source/tests/validation/data
model=$models/llama-3.2-1b.json
small="--model $model --cluster h100-sxm:1x8 --sequence-length 4096 --global-batch 16"

# Options are words to be split.
# shellcheck disable=SC2086
one() {
    status=$1 out=$2 err=$3
    shift 3
    expect "$status" "$out" "$err" estimate $small "$@"
}

# seconds: of the last estimate printed as JSON
seconds() {
    sed -n 's/.*"iteration_seconds": \([0-9.e-]*\).*/\1/p' stdout
}

# longer A B: A is more than B
longer() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b * 1.000001) }' || fail "$1 is not more than $2: $3"
}

# One configuration.
one 0 '^iteration +[0-9.]+ ' -
one 0 '^fits: ' - --tp 2 --pp 2 --zero 1
one 0 'dp 2, pp 2, vpp 2, tp 2, .*interleaved' - --tp 2 --pp 2 --vpp 2
one 0 'dp 1, pp 1, vpp 1, tp 2, ulysses 2, ring 2' - --tp 2 --ulysses 2 --ring 2
one 0 '"iteration_seconds": ' - --json
cp stdout first.json
plain=$(seconds)
one 0 '"fits": true' - --json --recompute full
longer "$(seconds)" "$plain" 'full recompute'
for words in none full full:block:2 full:uniform:2 selective:mlp selective:core_attn,layernorm mlp attention-output; do
    one 0 '"iteration_seconds": ' - --json --recompute "$words"
done
one 0 '"iteration_seconds": ' - --json --profile h100-nemo-bf16
cp stdout profiled.json
cmp -s profiled.json first.json && fail 'a profile changes nothing'
one 0 '"profile": "h100-nemo-bf16"' - --json --profile h100-nemo-bf16 --tp-overlap 0.5
one 0 'matmul_ratio +0\.797 of peak +catalogue' - --explain
one 0 'seen over counted +catalogue' - --explain
one 0 'matmul_ratio .* of peak +h100-nemo-bf16|matmul_ratio .*profile' - --explain --profile h100-nemo-bf16
one 0 'optimizer' - --offload-optimizer --offload-activations 0.5

# What does not fit says by how much; the report is printed all the same.
big="--model $models/llama-3.1-70b.json --cluster h100-sxm:1x8 --sequence-length 4096 --global-batch 8"
# shellcheck disable=SC2086
expect 1 'does not fit|missing|GiB' '^lcplan: memory: stage 0 needs [0-9.]+ GiB more than the device has$' estimate $big
# shellcheck disable=SC2086
expect 1 '"fits": false' '^lcplan: memory: ' estimate $big --json

# What is not possible, and what was not said.
one 3 - 'the degrees multiply to 16 devices, the cluster has 8' --dp 16
one 3 - '32 attention heads are not a multiple of tp x ulysses = 3' --tp 3
one 3 - 'a global batch of 16 sequences is not a multiple of microbatch x dp = 24' --microbatch 3
one 3 - 'stages, expected at most 18' --pp 4 --vpp 5
one 3 - 'ZeRO groups of 3 ranks do not divide dp x cp = 8' --zero 1 --zero-group 3
one 3 - 'gpipe has no virtual stages' --pp 2 --vpp 2 --schedule gpipe
one 3 - 'first and last stage of 15 and 15 layers' --pp 4 --first-stage-layers 15 --last-stage-layers 15
one 2 - '--recompute: found .half.' --recompute half
one 2 - '--recompute: found .full:block:0.' --recompute full:block:0
one 2 - '--recompute: found .selective:heads.' --recompute selective:heads
one 2 - '--schedule' --schedule zigzag
one 2 - '--tp' --tp 0
one 2 - '--offload-activations' --offload-activations 1.5
one 2 - "unknown profile 'h100-nemo'; 'lcplan list profiles' names them" --profile h100-nemo
one 3 - 'the profile is for A100-SXM4-80GB, the cluster has H100' --profile a100-megatron
one 6 - 'no-such\.json' --profile ./no-such.json
expect 2 - '--model FILE, or --rows FILE, is needed' estimate
expect 2 - '--cluster FILE' estimate --model "$model"
expect 2 - '--sequence-length N is needed' estimate --model "$model" --cluster h100-sxm:1x8
expect 2 - '--global-batch N is needed' estimate --model "$model" --cluster h100-sxm:1x8 --sequence-length 4096

# Tables of runs.
table=$data/korthikanti_iteration_times.csv
expect 0 'predicted_iteration_seconds,.*,profile,skipped_reason$' '^time +8 rows scored' estimate --rows "$table"
cp stdout predicted.csv
[ "$(wc -l <predicted.csv)" = "$(grep -vc '^#' "$table")" ] || fail 'rows are missing'
expect 0 - - estimate --rows "$table" --quiet -o again.csv
cmp -s predicted.csv again.csv || fail 'standard output and -o differ'
expect 0 - - estimate --rows again.csv --quiet -o third.csv
cmp -s again.csv third.csv || fail 'a predicted table predicted again is another'
expect 0 - - estimate --rows "$table" --quiet --profile a100-megatron -o forced.csv
for name in megatron_sc21 mt_nlg_530b llm_foundry_mpt megatron_functional_tests burstengine_long_context; do
    expect 0 'skipped_reason' '^rows +[0-9]+, of which [0-9]+ not scored' estimate --rows "$data/$name.csv"
done
grep -v '^#' "$table" | head -3 >three.csv
"$lcplan" estimate --rows - --quiet <three.csv >piped.csv 2>stderr || fail 'no table from standard input'
[ "$(wc -l <piped.csv)" = 3 ] || fail 'rows of standard input are missing'
printf 'a,b\n1,2,3\n' >wide.csv
expect 3 - 'wide\.csv: line 2: found more than the 2 cells' estimate --rows wide.csv
printf 'a,b\n1,"2\n' >open.csv
expect 3 - 'open\.csv: line 2: found a quote that does not end' estimate --rows open.csv
printf 'a,a\n' >twice.csv
expect 3 - 'twice\.csv: column "a" is named twice' estimate --rows twice.csv
: >empty.csv
expect 3 - 'empty\.csv: found no header' estimate --rows empty.csv
expect 6 - 'missing\.csv' estimate --rows missing.csv
expect 2 - "unknown profile 'nobody'" estimate --rows "$table" --profile nobody
[ -w /dev/full ] && { "$lcplan" estimate --rows "$table" --quiet >/dev/full 2>stderr; [ $? = 6 ] || fail 'full disk'; }

# Calibration.
fit="--profile a100-megatron --fit matmul_ratio,memory_ratio,collective_ratio"
# shellcheck disable=SC2086
calibrate() {
    status=$1 out=$2 err=$3
    shift 3
    expect "$status" "$out" "$err" calibrate $fit "$@"
}
calibrate 0 - 'matmul_ratio +[0-9.]+ ' "$table" -o fitted.json
calibrate 0 '"format": "lcplan.profile/1"' - --quiet "$table"
cmp -s stdout fitted.json || fail 'standard output and -o differ'
calibrate 0 - - --quiet "$table" "$data/megatron_sc21.csv" -o both.json
cmp -s both.json fitted.json && fail 'a second table changes nothing'
expect 0 'matmul_ratio' - show fitted.json
expect 0 '"provenance": "fitted to 8 times' - show --json fitted.json
expect 0 '"fits"|iteration' - estimate --model "$model" --cluster a100-80:1x8 --sequence-length 4096 --global-batch 16 \
    --profile fitted.json
expect 2 - '--profile NAME.FILE is needed' calibrate "$table"
expect 2 - "--fit: unknown parameter 'speed'" calibrate --profile a100-megatron --fit matmul_ratio,speed "$table"
head -1 three.csv >no_rows.csv
calibrate 3 - 'found 0 complete measurements, expected at least 3' no_rows.csv
calibrate 3 - 'wide\.csv: line 2' wide.csv
calibrate 6 - 'missing\.csv' missing.csv
expect 2 - 'ROWS|operand|needed|expected' calibrate --profile a100-megatron

# Profiles by name, and in plans.
expect 0 'h100-nemo-bf16' - list profiles
expect 0 'matmul_ratio' - list parameters
expect 0 '"name": "matmul_ratio"' - list parameters --json
for name in $("$lcplan" list profiles | awk '{ print $1 }'); do
    expect 0 "^profile +$name\$" - show "$name"
done
planned="--model $model --cluster h100-sxm:1x4 --workload $source/tests/install/workload.json"
# shellcheck disable=SC2086
expect 0 - - plan --quiet $planned --profile h100-nemo-bf16 -o plan.json
# shellcheck disable=SC2086
expect 0 - - plan --quiet $planned -o bare.json
cmp -s plan.json bare.json && fail 'a profile does not change the plan'
expect 0 '^ok: plan.json' - verify plan.json
# shellcheck disable=SC2086
expect 0 '^ok' - verify plan.json $planned --profile h100-nemo-bf16
# shellcheck disable=SC2086
expect 1 - 'plan\.json' verify plan.json $planned
# shellcheck disable=SC2086
expect 3 - 'the profile is for' plan --quiet $planned --profile a100-megatron
finish
