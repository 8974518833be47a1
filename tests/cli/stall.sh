#!/bin/sh
# Programs on which the simplex method stalls must not stop the search: long uniform batches on a deep pipeline.
. "$(dirname "$0")/lib.sh"

uniform="--model $models/llama-3.1-70b.json --sequence-length 65536 --global-batch 64"
# Options are words to be split.
# shellcheck disable=SC2086
expect 0 - '^iteration .*gap [01]\.' plan $uniform --cluster h100-sxm:8x8 --pp 8 --tp 8 -o eight.json
expect 0 '^ok' - verify eight.json
# shellcheck disable=SC2086
expect 0 - '^iteration .*gap [01]\.' plan $uniform --cluster h100-sxm:8x8 --pp 4 --tp 8 -o four.json
expect 0 '^ok' - verify four.json
finish
