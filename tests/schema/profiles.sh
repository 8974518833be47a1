#!/bin/sh
# profiles.sh LCPLAN SOURCE_DIR WORK_DIR VALIDATE...: shipped profiles, what they were fitted from, and what calibrate
# and show print, against the schema; then documents that both the schema and the program refuse.
set -eu
lcplan=$1 source=$2 work=$3
shift 3
mkdir -p "$work"
rm -f "$work"/*.json
"$lcplan" calibrate --quiet --profile a100-megatron --fit matmul_ratio,fixed_memory_bytes \
    "$source/tests/validation/data/korthikanti_iteration_times.csv" -o "$work/fitted.json"
"$lcplan" show --json h100-nemo-bf16 >"$work/shown.json"
"$@" profile "$source"/profiles/*.json "$source"/profiles/seeds/*.json "$work"/*.json

# The fitted profile with something changed.
for change in 's/"gradient_bytes": [24]/"gradient_bytes": 3/' 's/"zero_stage": [0-9]/"zero_stage": 5/' \
    's/"matmul_ratio"/"matmul_speed"/' 's/("matmul_ratio": ."value": )/\130/' 's/"loss": "[a-z-]*"/"loss": "big"/' \
    's/"format": .*/"format": "lcplan.profile\/2",/' 's/"stack"/"stock"/' 's/"dropout": [a-z]*/"dropout": 1/'; do
    sed -E "$change" "$work/fitted.json" >"$work/bad.json"
    if cmp -s "$work/fitted.json" "$work/bad.json"; then
        printf "%s changes nothing\n" "$change"
        exit 1
    fi
    if "$@" profile "$work/bad.json" >/dev/null 2>&1 || "$lcplan" show "$work/bad.json" >/dev/null 2>&1; then
        printf "taken: %s\n" "$change"
        exit 1
    fi
done
rm "$work/bad.json"
