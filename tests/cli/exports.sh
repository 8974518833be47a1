#!/bin/sh
# Plans made for a trainer are ones it can be told; what is lost; rules that are broken.
. "$(dirname "$0")/lib.sh"

small="--model $models/llama-3.1-8b.json --cluster h100-sxm:2x8 --sequence-length 16K --global-batch 32 --max-candidates 8"

# plan_for NAME PLAN WORD...: a plan for that trainer holds, and is exported without --lossy
plan_for() {
    trainer=$1 plan=$2
    shift 2
    expect 0 - - plan --quiet --for "$trainer" -o "$plan" "$@"
    expect 0 '^ok' - verify "$plan"
    expect 0 '^ok: ' - check --for "$trainer" "$plan"
    expect 0 '.' - export --to "$trainer" --packing packing.jsonl "$plan"
    expect 0 '.' - export --to "$trainer" "$plan"
    grep -q "\"trainer\": \"$trainer\"" "$plan" || fail "$plan does not say $trainer"
}

# The trainer's words are to be split.
# shellcheck disable=SC2086
{
    plan_for megatron-lm@0.16 uneven.json --pp 3 --model "$models/llama-3.1-8b.json" --cluster h100-sxm:3x8 \
        --sequence-length 16K --global-batch 32 --max-candidates 8
    plan_for megatron-lm@0.12 old.json $small --pp 4 --ulysses 2 --ring 2
    plan_for megatron-lm@0.16 moe.json --model "$models/qwen3-30b-a3b.json" --cluster h100-sxm:2x8 --ep 8 --recompute full \
        --sequence-length 16K --global-batch 32 --max-candidates 8
    plan_for torchtitan@0.3 titan.json $small --pp 2
    plan_for deepspeed@0.18 deepspeed.json $small
    plan_for verl@0.7 verl.json $small
    plan_for nanotron@0.4 nanotron.json $small --pp 2
    plan_for nemo@bridge nemo.json $small --pp 2
    plan_for torchrun@2 torchrun.json $small --pp 2
    plan_for torch-pipelining@2 pipelining.json --model "$models/llama-3.2-1b.json" --cluster h100-sxm:1x4 --pp 4 \
        --sequence-length 4096 --global-batch 8
}

# A plan that no configuration of Megatron-LM says whole: refused with all that is lost, written with --lossy.
"$lcplan" plan --quiet --model "$models/llama-3.2-1b.json" --cluster h100-sxm:1x4 --pp 4 --gap 0.5 \
    --workload "$source/tests/install/workload.json" --max-candidates 8 -o free.json || fail 'no plan'
expect 1 - 'megatron-lm@0.16 cannot say .*\$\.chunks\[[0-9]+\]\.segments: which sequences of unequal length' export \
    --to megatron-lm free.json
expect 0 '^MEGATRON_ARGS=\(' '^lost: \$\.chunks\[0\]\.segments: ' export --to megatron-lm --lossy free.json
expect 0 '^MEGATRON_ARGS=\(' - export --to megatron-lm --lossy --quiet free.json
expect 1 'lost: ' 'things lost: [1-9]' check --for megatron-lm free.json
expect 1 '"feature": "packs"' 'things lost: [1-9]' check --json --for megatron-lm free.json
expect 0 '^0F0,' - export --to torch-pipelining --lossy --quiet free.json
expect 0 '^LAUNCH=' - export --to torchrun free.json
expect 0 - - export --to torchrun --packing packing.jsonl -o launch.sh free.json
grep -q '^{"dp": 0, "microbatch": 0, "segments": \[{"sequence": ' packing.jsonl || fail 'no packing'
[ "$(wc -l <packing.jsonl)" = "$(grep -c '"chunk": ' free.json)" ] || fail 'not a line for each chunk'
bash -n launch.sh || fail 'launch.sh is no shell'

# A plan changed by hand is no longer one that its trainer can be told.
sed 's/"trainer": "megatron-lm@0.16"/"trainer": "torchtitan@0.3"/' uneven.json >other.json
expect 1 - 'torchtitan@0.3' verify other.json
sed 's/"trainer": "megatron-lm@0.16"/"trainer": "nobody@1"/' uneven.json >nobody.json
expect 1 - '\$\.inputs\.options\.trainer' verify nobody.json

# Rules, their nearest legal values, exit statuses.
llama="--model $models/llama-3.1-8b.json"
# shellcheck disable=SC2086
{
    expect 0 '^ok: megatron-lm@0.16$' - check --for megatron-lm $llama --tp 8
    expect 1 '^H1: --tp 3: .*nearest legal: 2 and 4$' 'rules broken: 2' check --for megatron-lm $llama --tp 3
    expect 1 '^H2: --tp 16: .*nearest legal: 8$' 'rules broken: 1' check --for megatron-lm@0.15 $llama --tp 16
    expect 0 '^ok' - check --for megatron-lm@0.16 $llama --tp 16
    expect 1 '"nearest": \[2, 4\]' 'rules broken: 2' check --json --for megatron-lm $llama --tp 3
    expect 0 '"holds": true' - check --json --for megatron-lm $llama
    expect 1 '^W1: ' 'rules broken' check --for nanotron $llama --tp 3 --cluster h100-sxm:1x8
    expect 1 '^P3: ' 'rules broken' check --for megatron-lm@0.12 $llama --pp 4 --stage-layers 7,8,9,8
    expect 0 '^ok' - check --for megatron-lm $llama --pp 4 --stage-layers 7,8,9,8
    expect 1 '^P8: ' 'rules broken' check --for megatron-lm $llama --pp 2 --stage-layers 16,15
    expect 1 '^M1: ' 'rules broken' check --for deepspeed $llama --dp 4 --sequence-length 4K --global-batch 6
    expect 1 '^C1: ' 'rules broken' check --for megatron-lm $llama --ulysses 2 --ring 2 --ring-method all-gather
    expect 2 - 'expected the layers of each stage' check --for megatron-lm $llama --stage-layers 8,,8
    expect 2 - 'exclude each other' check --for megatron-lm $llama --workload x --sequence-length 8
    expect 2 - 'a plan says all the rest' check --for megatron-lm free.json --tp 2
    expect 2 - '--for NAME.* is needed' check free.json
    expect 2 - 'is needed' check --for megatron-lm
    expect 2 - '--to NAME.* is needed' export free.json
    expect 2 - 'PLAN is needed' export --to nemo
    expect 2 - "unknown trainer 'megatron', the nearest is megatron-lm" export --to megatron free.json
    expect 2 - "unknown trainer 'torchtitn', the nearest is torchtitan" plan --for torchtitn
    expect 2 - "unknown version '0.9' of torchtitan, expected 0.2, 0.3" check --for torchtitan@0.9 free.json
    expect 2 - 'expected 1f1b' plan $small --for megatron-lm --schedule elastic-1f1b
    expect 2 - 'can say auto, none, block or full only' plan $small --for megatron-lm --recompute selective
    expect 4 - 'which sequences of unequal length' plan $llama --cluster h100-sxm:2x8 --for torchtitan \
        --workload "$source/examples/workloads/mix-64k.json"
    expect 4 - 'trainer' plan $small --for deepspeed --pp 2
}
# Equal chunks are equal, whatever the batch; they need equal sequences.
for sequences in 12 20 36; do
    expect 0 - - plan --quiet --model "$models/llama-3.2-1b.json" --cluster h100-sxm:1x4 --sequence-length 1000 \
        --global-batch $sequences --equal-chunks --no-slicing --max-candidates 8 -o equal.json
    expect 0 '^ok' - verify equal.json
done
# shellcheck disable=SC2086
expect 3 - 'expected --no-slicing' plan $small --equal-chunks
# shellcheck disable=SC2086
expect 3 - 'expected sequences of one length' plan $llama --cluster h100-sxm:2x8 --equal-chunks --no-slicing \
    --workload "$source/examples/workloads/mix-64k.json"
expect 6 - 'no/such' export --to torchrun -o no/such/file free.json
expect 3 - "dev.null" export --to torchrun /dev/null
finish
