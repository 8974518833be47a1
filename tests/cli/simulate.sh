#!/bin/sh
# A plan run in time: figures, trace, picture, other orders, perturbed durations.
. "$(dirname "$0")/lib.sh"

expect 0 - - plan --model "$models/llama-3.2-1b.json" --cluster h100-sxm:1x8 --sequence-length 8K --global-batch 32 --pp 4 \
    --dp 2 --tp 1 --gap 0.9 --no-slicing --quiet -o plan.json
seconds=$(sed -nE '0,/"iteration_seconds"/s/.*"iteration_seconds": ([0-9.e-]+).*/\1/p' plan.json)

# the plan's own time, to six digits
expect 0 'iteration +[0-9.]+ s' - simulate plan.json
expect 0 '"iteration_seconds": ' - simulate plan.json --json
again=$(sed -nE 's/.*"iteration_seconds": ([0-9.e-]+).*/\1/p' stdout)
awk -v a="$seconds" -v b="$again" 'BEGIN { exit !(a > 0 && (a - b) / a < 1e-9 && (b - a) / a < 1e-9) }' ||
    fail "the plan says $seconds, simulate $again"
expect 0 - - simulate plan.json --quiet

# every schedule runs or says why not
for schedule in $("$lcplan" list schedules | cut -d' ' -f1); do
    case $schedule in
    vocab-1f1b) expect 4 - 'no passes for a head' simulate plan.json --schedule "$schedule" ;;
    *) expect 0 "^$schedule: 4 ranks" - simulate plan.json --schedule "$schedule" ;;
    esac
done
expect 0 ' 12 stages' - simulate plan.json --schedule interleaved --vpp 3
expect 4 - 'two virtual stages' simulate plan.json --schedule zb-v --vpp 3
expect 4 - '16 layers do not give each of 32 stages one' simulate plan.json --schedule interleaved --vpp 8
expect 0 - - simulate plan.json --schedule 1f1b --recompute-ahead --link-queues --quiet

# trace and picture are well formed
expect 0 - - simulate plan.json --schedule zb-v --trace trace.json --svg timeline.svg --quiet
grep -q '"traceEvents"' trace.json || fail 'no trace events'
grep -q '"ph": *"C"' trace.json || fail 'no counter of memory'
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON' || fail 'trace or picture'
import json, xml.dom.minidom
events = json.load(open('trace.json'))['traceEvents']
passes = [e for e in events if e['ph'] == 'X' and e['tid'] == 1]
assert len({e['pid'] for e in passes}) == 4
last = {}
for e in sorted((e for e in events if e['ph'] == 'X'), key=lambda e: e['ts']):
    key = e['pid'], e['tid']
    assert e['dur'] >= 0 and e['ts'] >= last.get(key, 0) - 1e-6, e
    last[key] = e['ts'] + e['dur']
svg = xml.dom.minidom.parse('timeline.svg').documentElement
assert svg.getElementsByTagName('title') and svg.getElementsByTagName('desc') and svg.getAttribute('role') == 'img'
assert len(svg.getElementsByTagName('rect')) > len(passes)
PYTHON
fi
expect 0 '^<svg ' - simulate plan.json --svg -
expect 6 - 'no/such' simulate plan.json --svg no/such/file.svg

# the same seed, the same times; a slow rank slows down
expect 0 '^20 runs' - simulate plan.json --jitter 0.1 --runs 20 --seed 7
cp stdout first
expect 0 '^20 runs' - simulate plan.json --jitter 0.1 --runs 20 --seed 7
cmp -s first stdout || fail 'the same seed gives other times'
expect 0 '^20 runs' - simulate plan.json --jitter 0.1 --runs 20 --seed 8
cmp -s first stdout && fail 'another seed gives the same times'
expect 0 '^1 runs' - simulate plan.json --straggler 1:2
expect 0 '"largest_seconds": ' - simulate plan.json --straggler 1:2 --json
slow=$(sed -nE 's/.*"largest_seconds": ([0-9.e-]+).*/\1/p' stdout)
awk -v a="$seconds" -v b="$slow" 'BEGIN { exit !(b > 1.5 * a && b < 2.1 * a) }' || fail "twice as slow on a rank: $seconds, $slow"

expect 2 - "expected RANK:FACTOR" simulate plan.json --straggler 1
expect 2 - "pipeline ranks 0 to 3" simulate plan.json --straggler 4:2
expect 2 - "pipelines 0 to 1" simulate plan.json --pipeline 2
expect 0 'in pipeline 1 of 2$' - simulate plan.json --pipeline 1
expect 2 - '--vpp goes with --schedule' simulate plan.json --vpp 2
expect 2 - 'recompute-ahead goes with --schedule' simulate plan.json --recompute-ahead
expect 2 - 'say how --jitter is drawn' simulate plan.json --runs 5
expect 2 - "nearest is zb-h1" simulate plan.json --schedule zb-h
expect 2 - "expected a number" simulate plan.json --jitter x
expect 6 - 'nowhere.json' simulate nowhere.json
expect 2 - 'simulate PLAN --schedule zb-h1' plan --schedule zb-h1

finish
