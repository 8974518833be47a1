#!/bin/sh
# Files that are not what they should be: 3, one line, the file and the place in it; files that cannot be read: 6.
. "$(dirname "$0")/lib.sh"

good_model=$models/llama-3.2-1b.json
good_cluster=h100-sxm:1x4
small="--sequence-length 1024 --global-batch 8"

# model|cluster|workload FILE STATUS PATTERN
with() {
    model=$good_model cluster=$good_cluster batch=$small
    case $1 in
    model) model=$2 ;;
    cluster) cluster=$2 ;;
    workload) batch="--workload $2" ;;
    esac
    # $batch is words to be split
    # shellcheck disable=SC2086
    expect "$3" - "$4" plan --model "$model" --cluster "$cluster" $batch
}

: >empty.json
printf '{"a": [1, 2' >truncated.json
printf '{"a": 1} x' >trailing.json
printf '{"a": 1, "a": 2}' >duplicate.json
printf '[]' >array.json
printf '{"format": "lcplan.model/2"}' >future.json
printf '{"format": 7}' >number.json
printf '\377\376{}' >encoding.json
{
    i=0
    while [ $i -lt 5000 ]; do
        printf '[['
        i=$((i + 1))
    done
} >nested.json
for kind in model cluster workload; do
    for file in empty truncated trailing duplicate array future number encoding nested; do
        with $kind $file.json 3 "^lcplan: .*$file\.json"
    done
    with $kind missing.json 6 '^lcplan: missing\.json: cannot open'
    with $kind . 6 '^lcplan: \.: cannot'
done

# edit NAME FILE EXPRESSION: a copy of a good file with one thing changed
edit() {
    sed -e "$3" "$2" >"$1.json"
    cmp -s "$1.json" "$2" && fail "edit $1 changes nothing"
}
edit nan_model "$good_model" 's/"hidden_size": *[0-9]*/"hidden_size": NaN/'
edit negative_model "$good_model" 's/"hidden_size": */&-/'
edit huge_model "$good_model" 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 99999999/'
edit text_model "$good_model" 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": "16"/'
edit kind_model "$good_model" 's/"model_type": *"[a-z]*"/"model_type": "nothing-known"/'
with model nan_model.json 3 'nan_model\.json'
with model negative_model.json 3 'hidden_size.*found -'
with model huge_model.json 3 'num_hidden_layers.*99999999'
with model text_model.json 3 'num_hidden_layers'
with model kind_model.json 3 'nothing-known'

good_cluster_file=$source/examples/clusters/h100-16x8.json
edit unknown_cluster "$good_cluster_file" 's/"nodes"/"knots": 1, "nodes"/'
edit negative_cluster "$good_cluster_file" 's/"nodes": *[0-9]*/"nodes": -1/'
edit huge_cluster "$good_cluster_file" 's/"nodes": *[0-9]*/"nodes": 99999999999/'
edit device_cluster "$good_cluster_file" 's/"H100-SXM5-80GB"/"H1000"/'
edit fast_cluster "$good_cluster_file" 's/450e9/1e400/'
with cluster unknown_cluster.json 3 'knots'
with cluster negative_cluster.json 3 'groups\[0\]\.nodes.*found -1'
with cluster huge_cluster.json 3 'groups\[0\]\.nodes'
with cluster device_cluster.json 3 'H1000'
with cluster fast_cluster.json 3 'fast_cluster\.json'
with cluster h100-sxm:0x8 3 'h100-sxm:0x8'
with cluster h100-sxm:8 6 'h100-sxm:8'
with cluster h1000:1x8 3 'h1000'

good_workload=$source/tests/install/workload.json
edit unknown_workload "$good_workload" 's/"above_max"/"shape": 1, "above_max"/'
edit zero_workload "$good_workload" 's/\[ 8192/[ 0/'
edit fraction_workload "$good_workload" 's/\[ 8192/[ 1.5/'
edit long_workload "$good_workload" 's/\[ 8192/[ 81920/'
edit none_workload "$good_workload" 's/"values": \[.*\]/"values": []/'
with workload unknown_workload.json 3 'shape'
with workload zero_workload.json 3 'values\[0\].*found 0'
with workload fraction_workload.json 3 'values\[0\]'
with workload long_workload.json 3 '81920'
with workload none_workload.json 3 'values'

# Terminals must not be driven by what a file says.
printf '{"model_type": "\\u001b[2Jx"}' >escape.json
expect 3 - . show escape.json
LC_ALL=C grep -q "$(printf '\033')" stderr && fail 'an escape sequence went through'

for file in "$models"/*.json "$source"/examples/*/*.json h100-sxm:2x8; do
    expect 0 . - show "$file"
    expect 0 '^\{' - show --json "$file"
done
expect 3 - 'future\.json: \$\.format.*lcplan\.model/2' show future.json
expect 3 - 'number\.json: \$\.format' show number.json
expect 6 - 'cannot open' show missing.json
expect 3 - . verify "$good_model"
expect 6 - 'cannot open' verify missing.json
finish
