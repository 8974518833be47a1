#!/usr/bin/env python3
"""Plans and verifies the example studies and prints, side by side, what each freedom of the planner is worth.

    studies.py PATH/TO/lcplan [--only NAME] [--no-variants]

Columns: (a) the plan; (b) no sequence is cut; (c) one recompute setting for every stage and chunk; (d) equal layers per
stage; (e) all three restrictions at once. Times are predicted seconds per iteration; ratios are against (a).
Exits with 1 if a plan does not verify, takes longer or more memory than its bar, or leaves a gap above 2 %.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")

# name, model, cluster, workload, seconds allowed
STUDIES = [
    ("llama-3.1-8b, 4x8 A100-80, long tail to 192K", "llama-3.1-8b", "a100-4x8", "long-tail-192k", 10),
    ("llama-3.1-70b, 16x8 H100, 1M", "llama-3.1-70b", "h100-16x8", "code-1m", 10),
    ("qwen3-235b-a22b, 32x8 H100, 128K", "qwen3-235b-a22b", "h100-32x8", "mix-128k", 10),
    ("deepseek-v3, 64x8 H800, 64K", "deepseek-v3", "h800-64x8", "mix-64k", 10),
    ("llama-3.1-70b, 128x8 H100, 1M", "llama-3.1-70b", "h100-128x8", "code-1m", 30),
]
VARIANTS = [
    ("b", "no slicing", ["--no-slicing"]),
    ("c", "one recompute setting", ["--uniform-recompute"]),
    ("d", "equal layers", ["--equal-layers"]),
    ("e", "all restrictions", ["--no-slicing", "--uniform-recompute", "--equal-layers"]),
]
MEMORY_BAR_BYTES = 1 << 30
GAP_BAR = 0.02


def run(command):
    """Exit status, wall seconds, peak bytes of the child, standard error."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    stderr = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.monotonic() - begin, usage.ru_maxrss * 1024, stderr


def plan(lcplan, study, flags, path):
    _, model, cluster, workload, _ = study
    command = [lcplan, "plan", "--quiet",
               "--model", os.path.join(EXAMPLES, "models", model + ".json"),
               "--cluster", os.path.join(EXAMPLES, "clusters", cluster + ".json"),
               "--workload", os.path.join(EXAMPLES, "workloads", workload + ".json"), "-o", path] + flags
    return run(command)


def degrees(document):
    p = document["parallelism"]
    return " ".join(f"{key}{p[key]}" for key in ("dp", "pp", "tp", "ulysses", "ring", "ep", "zero_stage") if p[key] != 1
                    or key == "zero_stage").replace("zero_stage", "zero").replace("ulysses", "u").replace("ring", "r")


def check(study, document, seconds, peak, problems):
    name, allowed = study[0], study[4]
    gap = document["certificate"]["gap_ratio"]
    if seconds > allowed:
        problems.append(f"{name}: took {seconds:.1f} s, allowed {allowed} s")
    if peak > MEMORY_BAR_BYTES:
        problems.append(f"{name}: took {peak / 2**20:.0f} MiB, allowed {MEMORY_BAR_BYTES / 2**20:.0f} MiB")
    if gap > GAP_BAR:
        problems.append(f"{name}: certificate gap {100 * gap:.2f} %, allowed {100 * GAP_BAR:.0f} %")


def study_rows(lcplan, study, variants, folder, problems):
    path = os.path.join(folder, "plan.json")
    status, seconds, peak, stderr = plan(lcplan, study, [], path)
    if status != 0:
        problems.append(f"{study[0]}: plan exited with {status}: {stderr.strip()}")
        return
    document = json.load(open(path))
    base = document["predicted"]["iteration_seconds"]
    status, verify_seconds, verify_peak, stderr = run([lcplan, "verify", path])
    if status != 0:
        problems.append(f"{study[0]}: verify exited with {status}: {stderr.strip()}")
    check(study, document, seconds, peak, problems)
    check(study, document, verify_seconds, verify_peak, problems)
    certificate, predicted = document["certificate"], document["predicted"]
    print(f"{study[0]}\n  (a) {base:9.3f} s  {degrees(document)}; MFU {100 * predicted['mfu_ratio']:.1f} %, bubble "
          f"{100 * predicted['bubble_ratio']:.1f} %, {len(document['chunks'])} chunks\n"
          f"      planned in {seconds:.2f} s, {peak / 2**20:.0f} MiB; verified in {verify_seconds:.2f} s; gap "
          f"{100 * certificate['gap_ratio']:.2f} % ({certificate['stopped_by']}), {certificate['candidates']['solved']} of "
          f"{certificate['candidates']['considered']} layouts' budgets solved")
    for letter, label, flags in variants:
        status, seconds, _, stderr = plan(lcplan, study, flags, path)
        if status != 0:
            print(f"  ({letter}) no plan   {label}: {stderr.strip()[:160]}")
            continue
        other = json.load(open(path))
        time_other = other["predicted"]["iteration_seconds"]
        print(f"  ({letter}) {time_other:9.3f} s  {time_other / base:6.3f} x  {label}: {degrees(other)} ({seconds:.1f} s)")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lcplan")
    parser.add_argument("--only", help="part of a study's name")
    parser.add_argument("--no-variants", action="store_true", help="plan and verify only")
    arguments = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for study in STUDIES:
            if arguments.only is None or arguments.only in study[0]:
                study_rows(arguments.lcplan, study, [] if arguments.no_variants else VARIANTS, folder, problems)
    for problem in problems:
        print("FAILED " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
