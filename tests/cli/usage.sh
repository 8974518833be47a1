#!/bin/sh
# Help is asked for: standard output and 0. Misuse: one line on standard error and 2.
. "$(dirname "$0")/lib.sh"

expect 0 '^usage: lcplan COMMAND' - --help
expect 0 '^usage: lcplan COMMAND' - -h
expect 0 '^lcplan [0-9]+\.[0-9]+\.[0-9]+$' - --version
for command in $("$lcplan" list commands | cut -d' ' -f1); do
    expect 0 "^usage: lcplan $command " - "$command" --help
    expect 0 "^usage: lcplan $command " - "$command" -h
    expect 2 - "unknown option '--no-such'.*lcplan $command --help" "$command" --no-such
    expect 2 - "^lcplan: --help takes no value" "$command" --help=yes
done
for kind in $("$lcplan" list | cut -d' ' -f1); do
    expect 0 '^[a-z0-9]' - list "$kind"
    expect 0 '"name": "' - list "$kind" --json
done

expect 2 - 'a command is needed'
expect 2 - "unknown command 'pln', the nearest is plan" pln
expect 2 - "unknown option '--verson'" --verson
expect 2 - "unknown kind 'device', the nearest is devices" list device
expect 2 - "nothing more is expected at 'more'" list devices more
expect 2 - 'PLAN is needed' verify
expect 2 - "nothing more is expected at 'b'" verify a b
expect 2 - 'nothing more is expected' verify 1 2
expect 6 - '^lcplan: --help: cannot open' verify -- --help
expect 2 - "the nearest is --model" plan --modle x
expect 2 - "unknown option '-x'" plan -x
expect 2 - "unknown option '--objective'" plan --objective time
expect 2 - "unknown trainer 'torchtitn', the nearest is torchtitan" plan --for torchtitn
expect 2 - "unknown profile 'x'" plan --profile x --model "$models/llama-3.2-1b.json" --cluster h100-sxm:1x1 --sequence-length 1 --global-batch 1
expect 2 - '--model needs a value: FILE' plan --model
expect 2 - '--model is given twice' plan --model a --model=b
expect 2 - '--quiet is given twice' plan --quiet --quiet
expect 2 - '--quiet takes no value' plan --quiet=1
expect 2 - '--model FILE is needed' plan
expect 2 - '--cluster .* is needed' plan --model x
expect 2 - '--workload .* is needed' plan --model x --cluster y
expect 2 - '--global-batch N is needed' plan --model x --cluster y --sequence-length 8
expect 2 - '--sequence-length N is needed' plan --model x --cluster y --global-batch 8
expect 2 - 'exclude each other' plan --model x --cluster y --workload z --sequence-length 8 --global-batch 8
expect 2 - 'exclude each other' plan --quiet --explain
expect 2 - '--json needs -o FILE' plan --json
expect 2 - '--json needs -o FILE' plan --json -o -

# option, words that are not a value of it
bad() {
    option=$1
    shift
    for value; do
        expect 2 - "^lcplan: $option: found '.*expected" plan "$option=$value"
    done
}
for degree in --dp --pp --tp --ulysses --ring --ep; do
    bad $degree 0 -1 1.5 two 2, ,2 2,,4 2,2 99999999 '' ' 2' 0x4 nan
done
bad --vpp 2 1,2 0
bad --zero 4 -1 1.0 '' 00
bad --sequence-length 0 -1 1e3 8k 8KK '' nan 9999999999999999999999
bad --global-batch 0 100000000
bad --gap -0.1 1 nan inf 0x1 '' 0.1x
bad --threads 0 -1
bad --time-limit 0 -1 inf
bad --gradient-bytes 3 8
bad --expert-imbalance 0.9
bad --dp-overlap 1.1 -0.1
bad --precision int8 ''
bad --optimizer lion
bad --loss none
bad --recompute some
expect 2 - "unknown schedule 'elastic', .*lcplan list schedules" plan --schedule elastic
expect 2 - 'no schedule here interleaves' plan --vpp 2
finish
