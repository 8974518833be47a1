#!/usr/bin/env python3
"""Plans several configurations with lcplan and executes each: check_plans.py LCPLAN [--long] [NAME...].

Prints a line for each; exit status 1 if anything is off, 77 if python3 has no torch."""
import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

try:
    import torch  # noqa: F401
except ImportError:
    print("skipped: python3 has no torch (Debian: apt-get install python3-torch; elsewhere: pip install torch)")
    sys.exit(77)

import rewrite
from plan import Plan
from train import check_plan

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Case:
    name: str
    options: str
    cluster: str = "cluster.json"  # four devices
    workload: str = "short.json"
    rewriting: object = None
    audit: bool = False
    demands: object = None  # what the plan must have for the case to be worth anything


def sliced(plan):
    return any(s.offset > 0 for c in plan.chunks for s in c.segments)


def policies(*names):
    return lambda plan: set(names) <= {p for c in plan.chunks for p in c.policies.values()}


def uneven(plan):
    return len({stage.layer_count for stage in plan.stages}) > 1


def split(document):
    return rewrite.split_backward(document)


def every_policy_split(document):
    return rewrite.split_backward(rewrite.every_policy(document))


def two_ranks(document):
    return rewrite.interleave(document, 2)


def two_ranks_v(document):
    return rewrite.interleave(document, 2, v_shape=True)


def two_ranks_v_split(document):
    return rewrite.split_backward(rewrite.interleave(document, 2, v_shape=True))


QUICK = [
    Case("pipeline of slices", "--pp 4", demands=sliced, audit=True),
    Case("tensor, slices", "--pp 2 --tp 2", demands=sliced),
    Case("ring, ulysses", "--pp 1 --ring 2 --ulysses 2"),
    Case("replicas, split backward", "--pp 2 --dp 2", rewriting=split),
    Case("virtual stages", "--pp 4", rewriting=two_ranks_v, demands=sliced),
]

LONG = QUICK + [
    Case("1f1b", "--pp 4 --schedule 1f1b --no-slicing"),
    Case("packs alone", "--pp 2 --dp 2 --no-slicing"),
    Case("full recompute", "--pp 4 --recompute full", demands=policies("full")),
    Case("selective recompute", "--pp 4 --recompute selective", "tight.json", "workload.json", demands=sliced),
    Case("little memory", "--pp 4", "tight.json", "workload.json", audit=True,
         demands=policies("activation", "mlp", "attention-output")),
    Case("every policy", "--pp 2 --dp 2", rewriting=rewrite.every_policy),
    Case("every policy, ring", "--pp 2 --ring 2", workload="workload.json", rewriting=rewrite.every_policy,
         demands=sliced),
    Case("every policy, tensor, split", "--pp 2 --tp 2", rewriting=every_policy_split, demands=sliced),
    Case("uneven layers", "--pp 4", "cluster.json", "workload.json", demands=uneven),
    Case("ulysses, slices", "--pp 2 --ulysses 2", workload="workload.json", demands=sliced),
    Case("ring, slices", "--pp 2 --ring 2", workload="workload.json", demands=sliced),
    Case("ring, slices, all recomputed", "--pp 2 --ring 2 --recompute full", workload="workload.json", demands=sliced),
    Case("ulysses, slices, all recomputed", "--pp 2 --ulysses 2 --recompute full", workload="workload.json",
         demands=sliced),
    Case("tensor, all recomputed", "--pp 2 --tp 2 --recompute full", workload="workload.json", demands=sliced),
    Case("ring of four", "--pp 1 --ring 4"),
    Case("ulysses of four", "--pp 1 --ulysses 4"),
    Case("tensor of four", "--pp 1 --tp 4"),
    Case("tensor and ring", "--pp 1 --tp 2 --ring 2"),
    Case("replicas, ZeRO 0", "--dp 4 --pp 1 --zero 0"),
    Case("replicas, ZeRO 1", "--dp 4 --pp 1 --zero 1"),
    Case("eager loss", "--pp 4 --loss eager"),
    Case("chunked loss", "--pp 2 --tp 2 --loss chunked"),
    Case("more kv ranks than heads", "--pp 1 --tp 8", "eight.json"),
    Case("more kv ranks than heads, ulysses", "--pp 1 --tp 2 --ulysses 4", "eight.json"),
    Case("eight ranks, all axes", "--pp 2 --tp 2 --ulysses 1 --ring 2", "eight.json", "workload.json", demands=sliced),
    Case("eight ranks, replicas", "--pp 4 --dp 2", "eight.json", "workload.json", demands=sliced),
    Case("split backward of slices", "--pp 4", rewriting=split, demands=sliced),
    Case("split backward, ring", "--pp 2 --ring 2", workload="workload.json", rewriting=split, demands=sliced),
    Case("split backward, tensor", "--pp 2 --tp 2", rewriting=split, demands=sliced),
    Case("recompute ahead", "--pp 4 --recompute full", rewriting=rewrite.recompute_ahead, demands=sliced),
    Case("interleaved", "--pp 4", rewriting=two_ranks, demands=sliced),
    Case("V with split backward", "--pp 4", rewriting=two_ranks_v_split, demands=sliced),
    Case("no sequence parallelism", "--pp 2 --tp 2", rewriting=rewrite.without_sequence_parallelism, demands=sliced),
]


def make_plan(lcplan, case):
    """The document that lcplan writes for a case; --zero 1 unless the case says otherwise."""
    inputs = os.path.join(HERE, "inputs")
    words = [lcplan, "plan", "--model", os.path.join(inputs, "model.json"),
             "--cluster", os.path.join(inputs, case.cluster), "--workload", os.path.join(inputs, case.workload),
             "--precision", "fp32", "--min-slice-tokens", "128", "--quiet", *case.options.split()]
    if "--zero" not in case.options:
        words += ["--zero", "1"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, timeout=120).stdout)


def run(lcplan, case):
    document = make_plan(lcplan, case)
    if case.demands and not case.demands(Plan(document)):
        return ["the plan has not what this case is for"]
    plan = Plan(case.rewriting(document) if case.rewriting else document)
    figures, wrong = check_plan(plan, case.audit)
    memory = "memory %+.2f %%" % (100 * figures["memory_error"]) if plan.predictable() else "memory not predicted"
    print("    %d ranks, %d chunks, loss %.1e, gradients %.1e, %s" %
          (figures["ranks"], figures["chunks"], figures["loss_error"], figures["gradient_error"], memory))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lcplan", help="the program lcplan")
    parser.add_argument("names", nargs="*", help="only these cases")
    parser.add_argument("--long", action="store_true", help="all cases, up to 8 ranks")
    words = parser.parse_args()
    cases = [c for c in (LONG if words.long or words.names else QUICK) if not words.names or c.name in words.names]
    failed = 0 if cases else 1
    for case in cases:
        print("%s (%s)" % (case.name, case.options), flush=True)
        started = time.monotonic()
        wrong = run(words.lcplan, case)
        verdict = "%s, %.1f s" % ("FAILED" if wrong else "ok", time.monotonic() - started)
        print("    " + verdict, *wrong, sep="\n    ", flush=True)
        failed += bool(wrong)
    print("%d cases, %d failed" % (len(cases), failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
