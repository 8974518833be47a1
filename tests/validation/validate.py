#!/usr/bin/env python3
"""Scores the cost model against published measurements and fails where a bar is missed.

    validate.py PATH/TO/lcplan PATH/TO/kernel_times [--rows FOLDER] [--worst N]

Every table of data/ (or of FOLDER) goes through `lcplan estimate --rows` with the shipped profiles. Scored: 16-bit,
dense, complete rows that their own table does not call SUSPECT. Beside every error stands that of a naive model: one
constant utilisation for each source and family of devices, fitted to the same rows. Mixtures, 8-bit runs and rows with settings
missing are reported, not gated.
"""
import argparse
import collections
import csv
import glob
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ["layers", "hidden", "heads", "seq_len", "gbs", "mbs", "gpus", "tp", "pp", "cp", "dp", "recompute"]
PEAK = {"A100": 312e12, "A800": 312e12, "H100": 989e12, "H200": 989e12, "B200": 2250e12, "V100": 125e12,
        "GH200": 989e12, "GB200": 2500e12, "B300": 2250e12, "GB300": 2500e12}
# Sources whose times or settings their own description calls too uncertain to gate on; reported.
REPORTED = {"burst_attention_pcie": "repeats differ by 23 %", "easycontext_ring": "noisy, its author says so",
            "sailor_validation": "recompute and precision not stated",
            "megatron_functional_tests": "times are launch-bound CI runs; memory is gated"}


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def quantile(values, ratio):
    values = sorted(values)
    at = ratio * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (at - below) * (values[above] - values[below])


def number(row, key):
    try:
        return float(row.get(key) or 0)
    except ValueError:
        return 0.0


def measured_seconds(row):
    if number(row, "iter_time_s") > 0:
        return number(row, "iter_time_s")
    rate, gpus = number(row, "tokens_per_s_gpu"), number(row, "gpus")
    return number(row, "gbs") * number(row, "seq_len") / rate / gpus if rate > 0 and gpus > 0 else 0.0


def is_gated(row):
    """16-bit, dense, complete, trusted by its own table."""
    sixteen = row.get("precision", "") in ("bf16", "fp16", "fp16/bf16")
    dense = number(row, "experts") <= 1
    complete = all((row.get(key) or "") != "" for key in NEEDED)
    return sixteen and dense and complete and "SUSPECT" not in (row.get("notes") or "")


def flops(row):
    """Model FLOPs of an iteration, recompute counted where it is full: what a constant utilisation is a share of."""
    h, layers, s = number(row, "hidden"), number(row, "layers"), number(row, "seq_len")
    kv = (number(row, "kv_heads") or number(row, "heads")) / number(row, "heads")
    matrices = 3 if row.get("gated_mlp") == "1" else 2
    layer = 2 * h * h * (2 + 2 * kv) + 2 * matrices * h * (number(row, "ffn") or 4 * h) + 2 * s * h
    forward = layers * layer + 2 * h * (number(row, "vocab") or 50304)
    passes = 4 if (row.get("recompute") or "").startswith("full") else 3
    return passes * forward * s * number(row, "gbs")


def family(row):
    return row["gpu_type"].split("-")[0]


def naive_times(rows):
    """One utilisation for each source and family of devices: the median over its rows."""
    shares = collections.defaultdict(list)
    for row in rows:
        ideal = flops(row) / number(row, "gpus") / PEAK.get(family(row), 312e12)
        shares[row["source"], family(row)].append(ideal / measured_seconds(row))
    use = {name: quantile(values, 0.5) for name, values in shares.items()}
    return [flops(row) / number(row, "gpus") / PEAK.get(family(row), 312e12) / use[row["source"], family(row)] for row in rows]


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            out[order[k]] = (i + j) / 2
        i = j + 1
    return out


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    product = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    spread = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return product / spread if spread > 0 else 0.0


class Bars:
    def __init__(self):
        self.missed = []

    def check(self, name, value, bar, higher=False):
        held = value >= bar if higher else value <= bar
        if not held:
            self.missed.append(name)
        return "ok" if held else "MISSED"


def line(name, count, errors, naive=None):
    absolute = [abs(e) for e in errors]
    text = (f"{name:34s} {count:5d}  {100 * quantile(absolute, 0.5):6.1f} {100 * quantile(absolute, 0.9):7.1f} "
            f"{100 * max(absolute):7.1f} {100 * quantile(errors, 0.5):+7.1f}")
    if naive:
        plain = [abs(e) for e in naive]
        text += f"   {100 * quantile(plain, 0.5):6.1f} {100 * quantile(plain, 0.9):7.1f}"
    print(text)


def sweeps_of(rows):
    sweeps = collections.defaultdict(list)
    for row in rows:
        key = tuple(row.get(k) for k in ("source", "model", "layers", "hidden", "gpus", "gpu_type", "gbs", "seq_len",
                                         "framework"))
        sweeps[key].append(row)
    return [s for s in sweeps.values() if len(s) > 1]


def score_time(rows, bars):
    header = f"{'iteration time, 16-bit dense complete':34s} {'rows':>5s}  {'median':>6s} {'90th':>7s} {'worst':>7s} {'bias':>7s}"
    print(header + "   naive:   90th   (per cent)")
    predicted = [number(r, "predicted_iteration_seconds") for r in rows]
    measured = [measured_seconds(r) for r in rows]
    errors = [p / m - 1 for p, m in zip(predicted, measured)]
    naive = [p / m - 1 for p, m in zip(naive_times(rows), measured)]
    by_source = collections.defaultdict(list)
    for i, row in enumerate(rows):
        by_source[row["source"]].append(i)
    biased = []
    for source in sorted(by_source):
        at = by_source[source]
        line(source, len(at), [errors[i] for i in at], [naive[i] for i in at])
        bias = quantile([errors[i] for i in at], 0.5)
        if source not in REPORTED and abs(bias) > 0.06:
            biased.append(source)
    gated = [i for i, row in enumerate(rows) if row["source"] not in REPORTED]
    line("all gated sources", len(gated), [errors[i] for i in gated], [naive[i] for i in gated])
    for name, why in REPORTED.items():
        if name in by_source:
            print(f"    not gated: {name}: {why}")
    absolute = [abs(errors[i]) for i in gated]
    print(f"  median at most 6 %: {bars.check('time, median', quantile(absolute, 0.5), 0.06)}; "
          f"90th percentile at most 15 %: {bars.check('time, 90th percentile', quantile(absolute, 0.9), 0.15)}; "
          f"bias of each source within 6 %: {bars.check('time, bias: ' + ', '.join(biased), len(biased), 0)}")
    plain = quantile([abs(naive[i]) for i in gated], 0.5)
    print(f"  half of the naive median error or less: {bars.check('time, naive', quantile(absolute, 0.5), plain / 2)}")


def score_layouts(rows, bars):
    regrets, correlations = [], []
    for sweep in sweeps_of(rows):
        predicted = [number(r, "predicted_iteration_seconds") for r in sweep]
        measured = [measured_seconds(r) for r in sweep]
        regrets.append(measured[predicted.index(min(predicted))] / min(measured) - 1)
        if len(sweep) >= 5:
            correlations.append(spearman(predicted, measured))
    above = sum(r > 0.10 for r in regrets)
    print(f"layouts: {len(regrets)} sweeps, regret median {100 * quantile(regrets, 0.5):.1f} %, 90th percentile "
          f"{100 * quantile(regrets, 0.9):.1f} %, worst {100 * max(regrets):.1f} %, {above} above 10 %; "
          f"rank correlation median {quantile(correlations, 0.5):.2f} of {len(correlations)} sweeps of 5 or more")
    print(f"  regret median at most 2 %: {bars.check('regret, median', quantile(regrets, 0.5), 0.02)}; worst at most "
          f"10 %: {bars.check('regret, worst', max(regrets), 0.10)}; correlation at least 0.9: "
          f"{bars.check('rank correlation', quantile(correlations, 0.5), 0.9, True)}")


def score_published(rows, bars):
    errors = [abs(number(r, "predicted_iteration_seconds") / measured_seconds(r) - 1) for r in rows
              if r["source"] == "korthikanti_iteration_times" and number(r, "iter_time_s") > 0]
    mean = sum(errors) / len(errors)
    print(f"Korthikanti 22B, 175B, 530B, 1T: mean error {100 * mean:.2f} % of {len(errors)} (best published peer: "
          f"3.65 %); at most 3 %: {bars.check('Korthikanti', mean, 0.03)}")


def score_memory(rows, bars):
    known = [r for r in rows if number(r, "peak_mem_gb") > 0 and r["status"] == "ok"]
    print(f"{'peak memory, 16-bit dense complete':34s} {'rows':>5s}  {'median':>6s} {'90th':>7s} {'worst':>7s} {'bias':>7s}")
    everything = []
    for source in sorted({r["source"] for r in known}):
        mine = [r for r in known if r["source"] == source]
        errors = []
        for r in mine:
            unit = 2**30 if "GiB" in (r.get("mem_unit") or "") else 1e9
            errors.append(number(r, "predicted_peak_memory_bytes") / unit / number(r, "peak_mem_gb") - 1)
        line(source, len(errors), errors)
        everything += errors
    line("all", len(everything), everything)
    absolute = [abs(e) for e in everything]
    print(f"  median at most 6 %: {bars.check('memory, median', quantile(absolute, 0.5), 0.06)}; 90th percentile at "
          f"most 15 %: {bars.check('memory, 90th percentile', quantile(absolute, 0.9), 0.15)}")


def score_failures(rows, bars):
    failed = [r for r in rows if r["status"] == "oom"]
    sources = {r["source"] for r in failed}
    ran = [r for r in rows if r["status"] == "ok" and r["source"] in sources]
    recall = sum(r["predicted_fits"] == "0" for r in failed) / len(failed)
    alarms = sum(r["predicted_fits"] == "0" for r in ran) / len(ran)
    print(f"out of memory: {len(failed)} runs that failed, {100 * recall:.0f} % foreseen; of {len(ran)} that ran in the "
          f"same sources {100 * alarms:.0f} % called too large")
    print(f"  recall at least 0.9: {bars.check('out of memory, recall', recall, 0.9, True)}; false alarms at most 10 %: "
          f"{bars.check('out of memory, false alarms', alarms, 0.10)}")


def score_slopes(rows, bars):
    groups = collections.defaultdict(list)
    for row in rows:
        if number(row, "seq_len") >= 32768:
            key = tuple(row.get(k) for k in ("source", "model", "gpus", "tp", "cp", "ulysses", "pp", "dp", "framework",
                                             "recompute"))
            groups[key].append(row)
    worst, count, gaps = 0.0, 0, []
    for group in groups.values():
        lengths = [math.log(number(r, "seq_len")) for r in group]
        if len(set(lengths)) < 2:
            continue
        slopes = []
        for value in (measured_seconds, lambda r: number(r, "predicted_iteration_seconds")):
            tokens = [math.log(value(r) / number(r, "gbs")) for r in group]
            mean_x, mean_y = sum(lengths) / len(lengths), sum(tokens) / len(tokens)
            slopes.append(sum((x - mean_x) * (y - mean_y) for x, y in zip(lengths, tokens)) /
                          sum((x - mean_x) ** 2 for x in lengths))
        count += 1
        gaps.append(abs(slopes[1] - slopes[0]))
        worst = max(worst, gaps[-1])
    print(f"long context, 32K and up: slope of log time against log length, {count} groups: off by "
          f"{quantile(gaps, 0.5):.3f} median, {quantile(gaps, 0.9):.3f} 90th percentile, {worst:.3f} worst; median within "
          f"0.1: {bars.check('long-context slope', quantile(gaps, 0.5), 0.1)}")


def score_kernels(program, bars):
    print("kernel times: device, kind, rows, median and 90th percentile of the error, bias, of large ones the median")
    for table, kind in (("kernel_gemm", "gemm"), ("kernel_attention_prefill", "prefill"),
                        ("flash_attention_tflops", "flash")):
        text = subprocess.run([program, os.path.join(HERE, "data", table + ".csv"), kind], check=True,
                              capture_output=True, text=True).stdout
        for row in csv.reader(text.splitlines()):
            name, count = row[0], int(row[2])
            note = ""
            if (name, kind) == ("H200-SXM-141", "prefill"):
                note = "not gated: another engine's kernel; the curve is that of FlashAttention-3 on the same silicon"
            else:
                note = bars.check(f"kernels: {name} {kind}", float(row[3]), 0.10)
            print(f"  {name:14s} {kind:8s} {count:5d} {100 * float(row[3]):6.1f} {100 * float(row[4]):6.1f} "
                  f"{100 * float(row[5]):+6.1f} {100 * float(row[7]):6.1f}  {note}")


def score_others(rows):
    print(f"{'reported only':34s} {'rows':>5s}  {'median':>6s} {'90th':>7s} {'worst':>7s} {'bias':>7s}")
    groups = collections.defaultdict(list)
    for row in rows:
        if is_gated(row) or measured_seconds(row) <= 0:
            continue
        kind = "mixture" if number(row, "experts") > 1 else "dense"
        eight = "fp8" in (row.get("precision") or "") or "fp4" in (row.get("precision") or "")
        groups[f"{row['source']}, {kind}{', 8 or 4 bits' if eight else ''}"].append(row)
    for name in sorted(groups):
        line(name[:34], len(groups[name]),
             [number(r, "predicted_iteration_seconds") / measured_seconds(r) - 1 for r in groups[name]])


def read_all(lcplan, folder):
    rows, skipped = [], collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(glob.glob(os.path.join(folder, "*.csv"))):
            source = os.path.splitext(os.path.basename(path))[0]
            if source.startswith("kernel_") or source == "flash_attention_tflops":
                continue
            out = os.path.join(work, source + ".csv")
            subprocess.run([lcplan, "estimate", "--quiet", "--rows", path, "-o", out], check=True)
            for row in rows_of(out):
                row["source"] = source
                if row["skipped_reason"]:
                    skipped[row["skipped_reason"].split(":")[0]] += 1
                else:
                    rows.append(row)
    return rows, skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lcplan")
    parser.add_argument("kernel_times")
    parser.add_argument("--rows", default=os.path.join(HERE, "data"))
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--known", default="", help="bars known to be missed, as printed, separated by ';'")
    arguments = parser.parse_args()
    bars = Bars()
    rows, skipped = read_all(arguments.lcplan, arguments.rows)
    print(f"{len(rows)} rows estimated, {sum(skipped.values())} not: " +
          ", ".join(f"{name} {count}" for name, count in skipped.most_common(8)))
    gated = [r for r in rows if is_gated(r)]
    timed = [r for r in gated if measured_seconds(r) > 0 and r["status"] == "ok"]
    trusted = [r for r in timed if r["source"] not in REPORTED]
    score_time(timed, bars)
    score_layouts(trusted, bars)
    score_published(timed, bars)
    score_slopes(timed, bars)
    score_memory([r for r in gated if r["source"] not in ("sailor_validation", "burst_attention_pcie")], bars)
    score_failures([r for r in rows if number(r, "experts") <= 1], bars)
    score_kernels(arguments.kernel_times, bars)
    score_others(rows)
    for row in sorted(trusted, key=lambda r: -abs(math.log(number(r, "predicted_iteration_seconds") /
                                                           measured_seconds(r))))[:arguments.worst]:
        print("worst:", row["source"], row["row_id"], row["model"], measured_seconds(row),
              row["predicted_iteration_seconds"], row["profile"])
    known = [name.strip() for name in arguments.known.split(";") if name.strip()]
    fresh = [name for name in bars.missed if name not in known]
    if bars.missed:
        print("bars missed: " + "; ".join(bars.missed))
    for name in known:
        if name not in bars.missed:
            print(f"no longer missed, take it off the list: {name}")
            sys.exit(1)
    if fresh:
        sys.exit(1)
    print("every other bar holds" if bars.missed else "every bar holds")


if __name__ == "__main__":
    main()
