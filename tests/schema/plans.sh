#!/bin/sh
# plans.sh LCPLAN SOURCE_DIR WORK_DIR VALIDATE...: plans of models of every attention kind, then the plans and the
# models inside them against the schemas.
set -eu
lcplan=$1 source=$2 work=$3
shift 3
mkdir -p "$work"
rm -f "$work"/*.json
for model in llama-3.2-1b gpt2-xl glm-4.5-air deepseek-v2-lite gemma-2-9b nemotron-h-8b qwen3-30b-a3b; do
    "$lcplan" plan --quiet --model "$source/examples/models/$model.json" --cluster h100-sxm:4x8 --sequence-length 1024 \
        --global-batch 32 --max-candidates 4 -o "$work/$model.json"
done
"$lcplan" plan --quiet --times --model "$source/examples/models/llama-3.2-1b.json" --cluster h100-sxm:1x4 \
    --workload "$source/tests/install/workload.json" -o "$work/times.json"
"$@" plan "$work"/*.json
