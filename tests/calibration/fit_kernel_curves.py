#!/usr/bin/env python3
"""Print the kernel and collective curves of costmodel/device_rates.c from the published tables.

Usage: fit_kernel_curves.py FOLDER, the folder that holds
  kernel_gemm.csv               matrix products by shape (bf16 rows)
  kernel_attention_prefill.csv  causal attention forward by length and heads
  flash_attention_tflops.csv    causal attention, forward and forward + backward
  kernel_nccl_intranode.csv     collectives by size inside one node

Every curve is fitted to the smallest mean absolute log error, so that no decade of sizes dominates. Needs numpy and
scipy; the project itself needs neither.
"""
import csv
import math
import sys

import numpy as np
from scipy.optimize import minimize

PEAK = {"A100-SXM-80": 312e12, "H100-SXM-80": 989e12, "H200-SXM-141": 989e12, "B200-180": 2250e12}
MEMORY = {"A100-SXM-80": 2.04e12, "H100-SXM-80": 3.35e12, "H200-SXM-141": 4.8e12, "B200-180": 8.0e12}
LINK = {"A100-SXM-80": 300e9, "H100-SXM-80": 450e9, "H200-SXM-141": 450e9, "B200-180": 900e9}


def rows(folder, name):
    with open(f"{folder}/{name}", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def fit(model, start, measured):
    """Positive parameters by Nelder-Mead on logs; returns (parameters, median absolute relative error)."""
    measured = np.array(measured)

    def loss(logs):
        return float(np.mean(np.abs(np.log(model(np.exp(logs)) / measured))))

    best = None
    for scale in (0.3, 1.0, 3.0):
        result = minimize(loss, np.log(np.array(start) * scale), method="Nelder-Mead",
                          options={"maxiter": 4000, "xatol": 1e-4, "fatol": 1e-6})
        if best is None or result.fun < best.fun:
            best = result
    parameters = np.exp(best.x)
    error = float(np.median(np.abs(model(parameters) / measured - 1)))
    return parameters, error


def products(folder, device):
    """seconds = 3 us + max(2 (m + half) n k / (ratio peak), bytes / (0.8 bandwidth)) for products of a training size.

    half is held at 64 or more: a tile of 128 rows wastes half of itself on average, and the tables start at 1024 rows,
    too late to see it.
    """
    data = [(float(r["m"]), float(r["n"]), float(r["k"]), float(r["latency_ms"]) * 1e-3)
            for r in rows(folder, "kernel_gemm.csv") if r["gpu_type"] == device and r["dtype"] == "bf16"]
    data = [d for d in data if 2 * d[0] * d[1] * d[2] >= 1e11]
    m, n, k, seconds = map(np.array, zip(*data))
    memory = 2 * (m * n + n * k + m * k) / (0.8 * MEMORY[device])

    def model(p):
        return 3e-6 + np.maximum(2 * (m + np.maximum(p[1], 64)) * n * k / (p[0] * PEAK[device]), memory)

    parameters, error = fit(model, [0.7, 200.0], seconds)
    return [parameters[0], max(parameters[1], 64), 3e-6], error, len(data)


def attention_forward(folder, device):
    """seconds = overhead + 4 heads head_dim pairs (1 + half / length) / (ratio peak)."""
    data = [(float(r["batch"]), float(r["seq_len"]), float(r["heads"]), float(r["head_dim"]),
             float(r["latency_ms"]) * 1e-3)
            for r in rows(folder, "kernel_attention_prefill.csv")
            if r["gpu_type"] == device and r["head_dim"] == "128" and r["dtype"] in ("bf16", "bfloat16")]
    data = [d for d in data if d[1] >= 1024 and d[0] * d[2] >= 4 and d[0] * d[1] * d[2] >= 32768]
    batch, length, heads, width, seconds = map(np.array, zip(*data))
    flops = 4 * batch * heads * width * length * (length + 1) / 2

    def model(p):
        return p[2] + flops * (1 + p[1] / length) / (p[0] * PEAK[device])

    return *fit(model, [0.5, 500.0, 1e-5], seconds), len(data)


def published_attention(folder, device, kernel, which):
    """The papers' setting (16384 tokens, heads x head_dim = 2048) through the same curve; no overhead term."""
    data = [(float(r["seq_len"]), float(r["tflops"]) * 1e12) for r in rows(folder, "flash_attention_tflops.csv")
            if r["gpu_type"] == device and r["implementation"] == kernel and r["pass"] == which
            and r["causal"] == "1" and r["head_dim"] == "128" and r["tflops"]]
    length, rate = map(np.array, zip(*data))
    parameters, error = fit(lambda p: (1 + p[1] / length) / (p[0] * PEAK[device]), [0.5, 500.0], 1 / rate)
    return parameters, error, len(data)


WIRE = {"all_gather": lambda g: (g - 1) / g, "reduce_scatter": lambda g: (g - 1) / g,
        "all_reduce": lambda g: 2 * (g - 1) / g, "alltoall": lambda g: (g - 1) / g}
STEPS = {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 2, "alltoall": 1}


def collectives(folder, device):
    """seconds = latency hops + wire (1 + half / bytes) / (ratio link); hops as in costmodel/collective.c.

    The latency is the median of messages up to 16 KiB, which are all latency; the rest is fitted from 4 MiB up, where
    the messages of training are. Both terms are constants in the bytes, so fitting them together would be degenerate.
    """
    small, data = [], []
    for r in rows(folder, "kernel_nccl_intranode.csv"):
        g, size, seconds = int(r["gpus"]), float(r["bytes"]), float(r["latency_ms"]) * 1e-3
        if r["gpu_type"] != device or r["op"] not in WIRE:
            continue
        hops = STEPS[r["op"]] * min(g - 1, 2 * math.ceil(math.log2(g)))
        if size <= 16384:
            small.append(seconds / hops)
        elif size >= 1 << 22:
            data.append((hops, WIRE[r["op"]](g), size, seconds))
    latency = float(np.median(small))
    hops, wire, size, seconds = map(np.array, zip(*data))

    def model(p):
        return latency * hops + wire * (size + p[1]) / (p[0] * LINK[device])

    parameters, error = fit(model, [0.8, 1e6], seconds)
    return [*parameters, latency], error, len(data)


def main():
    folder = sys.argv[1]
    for device in PEAK:
        for name, call in (("matmul", products), ("attention forward", attention_forward),
                           ("collective", collectives)):
            p, error, count = call(folder, device)
            print(f"{device:14s} {name:18s} ratio {p[0]:.3f} half {p[1]:.4g} seconds {p[2]:.3g} "
                  f"median error {error:.1%} of {count}")
        for kernel in ("FlashAttention-2", "FlashAttention-3", "cuDNN"):
            for which in ("fwd", "fwd+bwd"):
                try:
                    p, error, count = published_attention(folder, device, kernel, which)
                except ValueError:
                    continue
                print(f"{device:14s} {kernel} {which:8s} ratio {p[0]:.3f} half {p[1]:.4g} "
                      f"median error {error:.1%} of {count}")


if __name__ == "__main__":
    main()
