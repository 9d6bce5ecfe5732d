#!/usr/bin/env python3
"""Decoding with a window and whole-sequence attention: Tempo beside NumPy, PyTorch and JAX on the CPU.

usage: peers.py --tempo build/tempo [--venv build/bench/venv] [--steps 16384] [--threads 2]

Creates the virtual environment if it is not there (numpy, torch, jax from PyPI), runs itself in it, checks that all agree
and prints a table. Weights are drawn once and given to all. A peer that cannot be installed is left out and named.
"""
import argparse
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

H, D, M, W = 8, 64, 512, 256
SEQUENCE = 2048
SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "samples", "attention")


def in_environment(args):
    python = os.path.join(args.venv, "bin", "python")
    if not os.path.exists(python):
        subprocess.check_call([sys.executable, "-m", "venv", args.venv])
        for package in ("numpy", "jax", "torch"):
            subprocess.call([python, "-m", "pip", "install", "-q", package])
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:], "--inside"])


def has(name):
    return importlib.util.find_spec(name) is not None


def draw(np):
    r = np.random.default_rng(0)
    weight = lambda *shape: (r.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)
    return {"x0": r.standard_normal(M).astype(np.float32), "wq": weight(H, M, D), "wk": weight(H, M, D),
            "wv": weight(H, M, D), "wo": weight(H, D, M)}


def timed(f, repeats=3):
    out, times = f(), []
    for _ in range(repeats):
        start = time.perf_counter()
        out = f()
        times.append(time.perf_counter() - start)
    return statistics.median(times), out


def projections(np, a):
    """[M, 3*H*D] and [H*D, M]: one product each instead of one per head."""
    qkv = np.concatenate([a[n].transpose(1, 0, 2).reshape(M, H * D) for n in ("wq", "wk", "wv")], axis=1)
    return np.ascontiguousarray(qkv), a["wo"].reshape(H * D, M)


def numpy_decode(np, a, steps):
    """y of every step is kept, as in the program."""
    qkv, wo = projections(np, a)
    keys, values = np.zeros((H, W, D), np.float32), np.zeros((H, W, D), np.float32)
    y = np.empty((H, steps, D), np.float32)
    scale, x = np.float32(1 / np.sqrt(D)), a["x0"]
    for t in range(steps):
        q, k, v = (x @ qkv).reshape(3, H, D)
        keys[:, t % W], values[:, t % W] = k, v
        n = min(t + 1, W)
        s = np.matmul(keys[:, :n], q[:, :, None])[:, :, 0] * scale
        e = np.exp(s - s.max(axis=1, keepdims=True))
        row = np.matmul((e / e.sum(axis=1, keepdims=True))[:, None], values[:, :n])[:, 0]
        y[:, t] = row
        x = x + row.reshape(H * D) @ wo
        x = x / np.sqrt(x @ x / M + np.float32(1e-5))
    return y


def torch_step(torch, scale):
    def step(x, keys, values, slot, mask, qkv, wo):
        q, k, v = (x @ qkv).view(3, H, D)
        keys.index_copy_(1, slot, k[:, None])
        values.index_copy_(1, slot, v[:, None])
        s = torch.matmul(keys, q[:, :, None])[:, :, 0] * scale + mask
        row = torch.matmul(torch.softmax(s, 1)[:, None], values)[:, 0]
        x = x + row.reshape(H * D) @ wo
        return x / torch.sqrt((x * x).sum() / M + 1e-5), row
    return step


def torch_decode(torch, np, a, steps, compiled):
    qkv, wo = (torch.from_numpy(m) for m in projections(np, a))
    step = torch_step(torch, D ** -0.5)
    if compiled:
        step = torch.compile(step)
    slots = [torch.tensor([i]) for i in range(W)]
    masks = [torch.where(torch.arange(W) < n, 0.0, float("-inf")) for n in range(1, W + 1)]

    def run():
        with torch.inference_mode():
            keys, values, y = torch.zeros(H, W, D), torch.zeros(H, W, D), torch.empty(H, steps, D)
            x = torch.from_numpy(a["x0"])
            for t in range(steps):
                x, row = step(x, keys, values, slots[t % W], masks[min(t, W - 1)], qkv, wo)
                y[:, t] = row
            return y.numpy()
    return run


def jax_decode(np, a, steps):
    import jax
    import jax.numpy as jnp
    qkv, wo = projections(np, a)

    @jax.jit
    def run(x0, qkv, wo):
        def step(carry, t):
            x, keys, values = carry
            q, k, v = (x @ qkv).reshape(3, H, D)
            keys = jax.lax.dynamic_update_slice(keys, k[:, None], (0, t % W, 0))
            values = jax.lax.dynamic_update_slice(values, v[:, None], (0, t % W, 0))
            s = jnp.einsum("hwd,hd->hw", keys, q) * (D ** -0.5)
            p = jax.nn.softmax(jnp.where(jnp.arange(W) <= t, s, -jnp.inf), axis=1)
            row = jnp.einsum("hw,hwd->hd", p, values)
            x = x + row.reshape(H * D) @ wo
            x = x / jnp.sqrt(jnp.sum(x * x) / M + 1e-5)
            return (x, keys, values), row
        empty = jnp.zeros((H, W, D), jnp.float32)
        return jax.lax.scan(step, (x0, empty, empty), jnp.arange(steps))[1]

    given = [jax.device_put(v) for v in (a["x0"], qkv, wo)]
    return lambda: np.asarray(run(*given).block_until_ready()).transpose(1, 0, 2)


def tempo_run(np, args, sample, arrays, settings, folder):
    """(seconds of the run phase, output y). Twice: the second run starts from the cache."""
    command = [args.tempo, "run", os.path.join(SAMPLES, sample), "--quiet", "--time-phases", "--threads", str(args.threads)]
    for name, array in arrays.items():
        np.save(os.path.join(folder, name + ".npy"), array)
        command += ["--in", f"{name}={folder}/{name}.npy"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    command += ["--out", f"y={folder}/y.npy"]
    times = []
    for _ in range(4):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        times.append(float(re.search(r"\brun\s+([0-9.]+) ms", done.stderr)[1]) / 1e3)
    return statistics.median(times[1:]), np.load(os.path.join(folder, "y.npy"))


def sequence_peers(np, q, k, v, window, threads):
    keep = np.tril(np.ones((SEQUENCE, SEQUENCE), bool))
    if window:
        keep &= ~np.tril(np.ones((SEQUENCE, SEQUENCE), bool), -window)
    peers = {}
    if has("torch"):
        import torch
        a, mask = [torch.from_numpy(x)[None, None] for x in (q, k, v)], torch.from_numpy(keep)
        given = {"attn_mask": mask} if window else {"is_causal": True}

        def sdpa():
            with torch.inference_mode():
                return torch.nn.functional.scaled_dot_product_attention(*a, **given)[0, 0].numpy()
        peers["torch SDPA"] = sdpa
    if has("jax"):
        import jax
        f = jax.jit(lambda q, k, v, m: jax.nn.dot_product_attention(q, k, v, mask=m))
        placed = [jax.device_put(x[None, :, None]) for x in (q, k, v)]
        jax_mask = jax.device_put(keep[None, None])
        peers["jax dot_product_attention"] = lambda: np.asarray(f(*placed, jax_mask).block_until_ready())[0, :, 0]
    return peers


def table(np, title, tempo, rows):
    """A decoder fed its own output carries rounding on: so the tolerance is on the mean square."""
    print(f"\n{title}\n  {'tempo':28s} {tempo[0] * 1e3:10.1f} ms")
    good = True
    for name, (seconds, y) in rows.items():
        off = float(np.sqrt(np.mean((y - tempo[1]) ** 2) / np.mean(tempo[1] ** 2)))
        good &= off < 1e-3
        print(f"  {name:28s} {seconds * 1e3:10.1f} ms   {seconds / tempo[0]:6.2f} x tempo's time   difference {off:.1e}"
              + ("" if off < 1e-3 else "  DISAGREES"), flush=True)
    return good


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tempo", required=True)
    p.add_argument("--venv")
    p.add_argument("--steps", type=int, default=16384)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--no-torch-compile", action="store_true")
    p.add_argument("--inside", action="store_true")
    args = p.parse_args()
    args.tempo = os.path.abspath(args.tempo)
    args.venv = args.venv or os.path.join(os.path.dirname(args.tempo), "bench", "venv")
    if not args.inside:
        in_environment(args)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(args.threads)
    import numpy as np
    for name in ("torch", "jax"):
        if not has(name):
            print(f"{name} is not installed: left out")
    if has("torch"):
        import torch
        torch.set_num_threads(args.threads)
    a, good = draw(np), True
    with tempfile.TemporaryDirectory() as folder:
        rows = {"numpy": timed(lambda: numpy_decode(np, a, args.steps), 1)}
        if has("jax"):
            rows["jax lax.scan"] = timed(jax_decode(np, a, args.steps))
        if has("torch"):
            rows["torch eager"] = timed(torch_decode(torch, np, a, args.steps, False), 1)
            try:
                if not args.no_torch_compile:
                    rows["torch.compile"] = timed(torch_decode(torch, np, a, args.steps, True), 1)
            except Exception as e:  # a missing C++ compiler and the like
                print("torch.compile left out:", str(e).splitlines()[0])
        mine = tempo_run(np, args, "decode_window.tempo", a, {"T": args.steps, "W": W}, folder)
        good &= table(np, f"decode_window, T = {args.steps}, H = {H}, D = {D}, M = {M}, W = {W}, f32", mine, rows)
        r = np.random.default_rng(1)
        q, k, v = (r.standard_normal((SEQUENCE, D)).astype(np.float32) for _ in range(3))
        for sample, window in (("causal.tempo", 0), ("window.tempo", W)):
            mine = tempo_run(np, args, sample, {"q": q, "k": k, "v": v}, {"W": window} if window else {}, folder)
            rows = {n: timed(f, 9) for n, f in sequence_peers(np, q, k, v, window, args.threads).items()}
            good &= table(np, f"{sample}, T = {SEQUENCE}, D = {D}, f32", mine, rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
