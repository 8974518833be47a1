#!/bin/sh
# Makes the shipped profiles from the measured runs in tests/validation/data: one line a profile, its seed in seeds/.
#     profiles/fit.sh PATH/TO/lcplan [NAME...]
# What a fit says of itself (errors, of rows left out too; how well each parameter is determined) goes to standard error.
set -eu
lcplan=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../tests/validation/data
wanted=" $* "

# fit NAME PARAMETERS|all TABLE...
fit() {
    name=$1 parameters=$2
    shift 2
    case $wanted in "  " | *" $name "*) ;; *) return 0 ;; esac
    tables=
    for table in "$@"; do
        tables="$tables $data/$table.csv"
    done
    [ "$parameters" = all ] && parameters= || parameters="--fit $parameters"
    echo "== $name" >&2
    # Words to be split.
    # shellcheck disable=SC2086
    "$lcplan" calibrate --profile "$here/seeds/$name.json" $parameters $tables -o "$here/$name.json"
}

memory=fixed_memory_bytes,activation_ratio
fit a100-megatron all megatron_sc21 korthikanti_iteration_times megatron_2020_tp_dp
fit a100-megatron-deepspeed all vtrain_a100 mt_nlg_530b
fit a100-deepspeed-zero3 all megatron_sc21
fit a100-fsdp all llm_foundry_mpt
fit h100-fsdp all llm_foundry_mpt
fit a100-internevo all internevo_7b_20b
fit a800-burstengine all burstengine_long_context
fit a100-pcie-bmtrain $memory burst_attention_pcie
fit a800-loongtrain all burstengine_long_context
fit a800-megatron all burstengine_long_context
fit a100-easycontext all easycontext_ring
fit a100-fms all fms_fsdp
fit h100-fms all fms_fsdp
fit a100-megatron-core $memory megatron_functional_tests
fit h100-megatron-core $memory megatron_functional_tests
fit b200-megatron-core $memory megatron_functional_tests
kernels=matmul_ratio,memory_ratio,zero_overlap_ratio,network_ratio,step_overhead_seconds,pass_overhead_seconds
fit a100-any all fms_fsdp internevo_7b_20b
fit h100-any $kernels fms_fsdp
# No public rows to fit: the seed says what was assumed.
cp "$here/seeds/h100-nemo-bf16.json" "$here/h100-nemo-bf16.json"
fit h100-nemo-fp8 all mlperf_gpt3_175b mlperf_llama31_405b mlperf_llama31_8b megatron_bridge_perf nemo_2407_and_megatron_llama
fit b200-nemo-fp8 all mlperf_llama31_405b mlperf_llama31_8b megatron_bridge_perf
