#!/bin/sh
# readme.sh LCPLAN SOURCE_DIR WORK_DIR: runs the commands of README.md with the program that was built. Installing packages
# and building are what .ci/run runs.
set -eu
lcplan=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work/build/release"
cd "$work"
ln -s "$lcplan" build/release/lcplan
ln -s "$source/examples" examples
ln -s "$source/tests" tests
ln -s "$source/profiles" profiles
sed -n '/^```sh$/,/^```$/p' "$source/README.md" "$source/docs/estimates.md" | grep -v '^```' >commands
count=0
while read -r line; do
    command=$(printf '%s\n' "$line" | sed 's/^apt-get [^&]* && //; s/^\(cmake [^&]*\( && \|$\)\)*//')
    [ -n "$command" ] || continue
    echo "\$ $command"
    sh -ec "$command" </dev/null >output 2>&1 || { cat output; exit 1; }
    count=$((count + 1))
done <commands
[ "$count" -ge 3 ] || { echo "only $count commands found"; exit 1; }
[ -s plan.json ] || { echo "no plan"; exit 1; }
