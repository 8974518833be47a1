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


def attention(folder, device):
    """Forward and backward together, the curve of costmodel/layer_terms.c:

    seconds = overhead + flops (1 + half / length + fill / (batch heads length)) (1 + narrow / width) / (ratio peak)

    over causal prefill timings and FlashAttention's published rates (2 on Ampere, 3 beyond; forward + backward only
    where they are one kernel's), the few published ones weighing ten times. ratio is reported at a head of 128.
    """
    kernel = "FlashAttention-2" if PEAK[device] < 5e14 else "FlashAttention-3"
    data = [(float(r["batch"]), float(r["heads"]), float(r["seq_len"]), float(r["head_dim"]),
             float(r["latency_ms"]) * 1e-3, 0, 1)
            for r in rows(folder, "kernel_attention_prefill.csv")
            if r["gpu_type"] == device and r["dtype"] in ("bf16", "fp16")]
    for r in rows(folder, "flash_attention_tflops.csv"):
        both = r["pass"] == "fwd+bwd"
        if (r["gpu_type"] != device or r["implementation"] != kernel or r["causal"] != "1" or "fp8" in r["dtype"]
                or (both and kernel != "FlashAttention-2")):
            continue
        batch, heads, length, width = (float(r[k]) for k in ("batch", "heads", "seq_len", "head_dim"))
        flops = 2 * batch * heads * width * length ** 2 * (3.5 if both else 1)
        data.append((batch, heads, length, width, flops / (float(r["tflops"]) * 1e12), 1 if both else 0, 10))
    batch, heads, length, width, seconds, both, weight = map(np.array, zip(*data))
    flops = 2 * batch * heads * width * length ** 2

    def model(p):
        ratio, half, fill, overhead, narrow, backward = p
        shape = (1 + half / length + fill / (batch * heads * length)) * (1 + narrow / width) / PEAK[device]
        return overhead + flops * shape / ratio + both * (overhead + 2.5 * flops * shape / backward)

    def loss(logs):
        return float(np.sum(weight * np.abs(np.log(model(np.exp(logs)) / seconds))) / np.sum(weight))

    best = None
    for half in (50.0, 300.0, 900.0):
        result = minimize(loss, np.log([0.6, half, 2e4, 1e-5, 20.0, 0.6]), method="Nelder-Mead",
                          options={"maxiter": 12000, "maxfev": 12000, "xatol": 1e-5, "fatol": 1e-7})
        if best is None or result.fun < best.fun:
            best = result
    p = np.exp(best.x)
    at_128 = 1 + p[4] / 128
    error = np.abs(model(p) / seconds - 1)
    return [p[0] / at_128, p[1], p[2], p[3], p[4], p[5] / at_128], float(np.median(error)), len(data)


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
        for name, call in (("matmul", products), ("collective", collectives)):
            p, error, count = call(folder, device)
            print(f"{device:14s} {name:12s} ratio {p[0]:.3f} half {p[1]:.4g} seconds {p[2]:.3g} "
                  f"median error {error:.1%} of {count}")
        p, error, count = attention(folder, device)
        backward = f"{p[5]:.3f}" if PEAK[device] < 5e14 else "not in the tables"
        print(f"{device:14s} attention    ratio {p[0]:.3f} half {p[1]:.4g} parallel rows {p[2]:.3g} seconds {p[3]:.2g} "
              f"narrow width {p[4]:.3g} backward {backward} median error {error:.1%} of {count}")


if __name__ == "__main__":
    main()
