#!/bin/sh
# sources.sh SOURCE_DIR: layers, sizes and habits that a compiler does not check.
set -u
cd "$1" || exit 2

# none MESSAGE: standard input is a list of offenders; everything printed is a failure
none() {
    sed "s|^|$1: |" | head -20
}

check() {

sources=$(find costmodel planner include tests -name '*.[ch]')
grep -l 'include <glpk\.h>' $sources | grep -v '^planner/solver/solver_glpk\.c$' |
    none 'glpk.h is for planner/solver/solver_glpk.c alone'
grep -l 'include <jansson\.h>' $sources | grep -Ev '^(planner/(input|output|cli)|tests)/' |
    none 'jansson.h is for planner/input, planner/output and planner/cli'
grep -E 'include "' $(find costmodel -name '*.[ch]') | grep -Ev 'include "(lcp/(status|model|cluster|cost|cost_terms|estimate)\.h|[a-z_]+\.h)"' |
    none 'costmodel/ depends on nothing but its own headers'
grep -lE '\b(fork|system|popen|exit|abort|setlocale|rand|srand)\(' $(find costmodel planner -name '*.[ch]') |
    none 'the library neither ends the program nor asks its surroundings'
grep -lE '\b(printf|puts|putchar)\(|\b(stdout|stderr)\b' $(find costmodel planner -name '*.[ch]' -not -path 'planner/cli/*') |
    grep -v '^planner/output/write_file\.c$' | none 'the library does not print'
grep -nE '^[^"]*//' $sources | grep -v 'https*://' | none 'comment of another style'
grep -nP '\t|\r| $' $sources | none 'tabs or spaces at the end of a line'
grep -nE '.{121}' $sources | none 'more than 120 columns'
grep -niE '\b(TODO|FIXME|XXX|HACK)\b' $sources | none 'unfinished work'
grep -nE '(^|[^a-z])/(home|root|work|tmp)/' $sources README.md docs/*.md docs/lcplan.1 | none 'paths of some machine'
wc -l $sources | awk '$1 > 460 && $2 != "total" { print $2 ": " $1 " lines" }' | none 'files of more than 460 lines'
# A function of ours starts and ends with a brace in the first column.
awk 'FNR == 1 { start = 0 } /^\{/ { start = FNR } /^\}/ { if (start && FNR - start - 1 > 60)
    print FILENAME ":" start ": " FNR - start - 1 " lines"; start = 0 }' $sources | none 'functions of more than 60 lines'
for page in README.md docs/*.md; do
    grep -Eo '\]\([^)#]+' "$page" | cut -c3- | grep -v '^https*:' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
    done
done | none 'links to nothing'
}

offenders=$(check)
[ -z "$offenders" ] && exit 0
printf '%s\n' "$offenders"
exit 1
