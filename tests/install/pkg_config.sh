#!/bin/sh
# pkg_config.sh PC_DIR WORK_DIR COMPILER [FLAG...] -- MODEL CLUSTER WORKLOAD: builds the consumer with what
# pkg-config --static says, and runs it.
set -eu
pc_dir=$1 work=$2 compiler=$3
shift 3
flags=
while [ "$1" != -- ]; do
    flags="$flags $1"
    shift
done
shift
here=$(dirname "$0")
mkdir -p "$work"
export PKG_CONFIG_PATH="$pc_dir"
# The flags are words to be split.
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c11 -Wall -Werror $flags $(pkg-config --cflags lcp) "$here/consumer.c" -o "$work/consumer" \
    $(pkg-config --static --libs lcp)
"$work/consumer" "$@" "$work/plan.json"
