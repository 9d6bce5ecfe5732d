"""Expected outputs of the samples, from the formulas in formulas.py.

    python3 generate.py OUTDIR            writes OUTDIR/manifest.txt and one .npz a case
    python3 generate.py --check OUTDIR    recomputes and compares with what is there; exit 1 on a difference

The manifest has one line a case: name, sample, rtol, atol, `size=value` settings, members. A case's file has its inputs as
members `in.NAME` and its outputs as `out.NAME`; a case `shipped` has no inputs: the sample runs on its own data.
"""

import csv
import os
import sys
import numpy as np
import formulas as f

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
F32 = (1e-5, 1e-5)


def shipped(folder, *names):
    return [np.load(os.path.join(SAMPLES, folder, "data", n + ".npy")) for n in names]


def series(file, column):
    with open(os.path.join(SAMPLES, "data", file)) as h:
        return np.array([float(r[column]) for r in csv.DictReader(h)], np.float32)


def wide(arrays):
    return [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]


class Cases:
    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.cases = []

    def add(self, sample, label, settings, inputs, outputs, tolerance=F32):
        name = sample.replace("/", "_") + "." + label
        self.cases.append((name, sample + ".tempo", tolerance, settings, inputs, outputs))

    def normal(self, *shape, scale=1.0):
        return (scale * self.rng.standard_normal(shape)).astype(np.float32)

    def run(self, sample, names, make, formula, sizes, outputs, data=None, tolerance=F32):
        """`make(sizes)` gives random inputs, `formula(*inputs, **sizes)` the outputs; then once on the shipped data."""
        for label, given, settings in sizes:
            arrays = make(**given)
            self.emit(sample, label, settings, names, arrays, formula, given, outputs, tolerance)
        if data is not None:
            arrays, given = data
            results = self.results(formula, arrays, given, outputs)
            self.add(sample, "shipped", {}, {}, results, tolerance)

    def emit(self, sample, label, settings, names, arrays, formula, given, outputs, tolerance):
        results = self.results(formula, arrays, given, outputs)
        self.add(sample, label, settings, dict(zip(names, arrays)), results, tolerance)

    @staticmethod
    def results(formula, arrays, given, outputs):
        out = formula(*wide(arrays), **given)
        return dict(zip(outputs, out if isinstance(out, tuple) else (out,)))


def pick(given, *names):
    return {n: given[n] for n in names}


LENGTHS = (0, 1, 2, 13, 37)


def attention(c):
    qkv = ["q", "k", "v"]
    one = lambda T, D=5, **_: [c.normal(T, D), c.normal(T, D), c.normal(T, D)]
    plain = [(f"T{T}", {"T": T}, {}) for T in LENGTHS]
    own = shipped("attention", "q", "k", "v")

    def single(sample, visible, sizes, default):
        c.run(sample, qkv, one, lambda q, k, v, **z: f.attend(q, k, v, visible(T=len(q), **{n: z[n] for n in default})),
              sizes, ["y"], (own, default))

    def sized(**grid):
        out = []
        for label, z in grid.items():
            for T in (0, 1, 13, 37):
                out.append((f"T{T}_{label}", {"T": T, **z}, z))
        return out

    single("attention/causal", lambda T: f.causal, plain, {})
    single("attention/window", lambda T, W: f.window(W), sized(w0={"W": 0}, w1={"W": 1}, w5={"W": 5}, w64={"W": 64}), {"W": 16})
    single("attention/sinks_window", lambda T, S, W: f.sinks_window(S, W),
           sized(s0={"S": 0, "W": 3}, s2={"S": 2, "W": 5}, s64={"S": 64, "W": 3}), {"S": 4, "W": 12})
    single("attention/prefix_lm", lambda T, P: (lambda t: f.prefix(P)(t, T)),
           sized(p0={"P": 0}, p7={"P": 7}, p64={"P": 64}), {"P": 24})
    single("attention/dilated", lambda T, W, G: f.dilated(W, G),
           sized(g1={"W": 3, "G": 1}, g3={"W": 4, "G": 3}, g64={"W": 2, "G": 64}), {"W": 8, "G": 4})
    single("attention/block_local", lambda T, B: f.block_local(B, T), sized(b1={"B": 1}, b5={"B": 5}, b64={"B": 64}), {"B": 16})

    c.run("attention/cross", qkv, lambda T, S: [c.normal(T, 5), c.normal(S, 5), c.normal(S, 5)],
          lambda q, k, v, **_: f.attend(q, k, v, lambda t: range(len(k))),
          [(f"T{T}_S{S}", {"T": T, "S": S}, {}) for T, S in ((0, 3), (1, 0), (5, 1), (7, 13), (13, 7))], ["y"],
          (shipped("attention", "q", "memory_k", "memory_v"), {}))
    heads = [(f"H{H}_T{T}", {"H": H, "T": T}, {}) for H, T in ((1, 0), (3, 1), (2, 13), (4, 29))]
    c.run("attention/alibi", qkv, lambda H, T: [c.normal(H, T, 5) for _ in qkv], lambda q, k, v, **_: f.alibi(q, k, v),
          heads, ["y"], (shipped("attention", "heads_q", "heads_k", "heads_v"), {}))
    c.run("attention/grouped_query", qkv, lambda H, T: [c.normal(H, 3, T, 5), c.normal(H, T, 5), c.normal(H, T, 5)],
          lambda q, k, v, **_: f.grouped_query(q, k, v), heads, ["y"],
          (shipped("attention", "grouped_q", "grouped_k", "grouped_v"), {}))
    latent = ["x", "wc", "wq", "wqr", "wk", "wkr", "wv"]
    c.run("attention/multi_latent", latent,
          lambda H, T, M=6, C=3, D=5, R=4: [c.normal(T, M), c.normal(M, C, scale=0.4), c.normal(H, M, D, scale=0.4),
                                            c.normal(H, M, R, scale=0.4), c.normal(H, C, D, scale=0.4),
                                            c.normal(M, R, scale=0.4), c.normal(H, C, D, scale=0.4)],
          lambda *a, **_: f.multi_latent(*a), heads, ["y"],
          (shipped("attention", "x", *("latent_" + n for n in latent[1:])), {}))
    c.run("attention/linear", qkv, one, lambda q, k, v, **_: f.linear(q, k, v), plain, ["y"], (own, {}))
    c.run("attention/retention", qkv, one, lambda q, k, v, gamma=0.9375, **_: f.retention(q, k, v, gamma), plain, ["y"],
          (own, {}))
    c.run("attention/differential", ["q1", "q2", "k1", "k2", "v"], lambda T: [c.normal(T, 5) for _ in range(5)],
          lambda *a, **_: f.differential(*a, 0.8), plain, ["y"], (shipped("attention", "q", "q2", "k", "k2", "v"), {}))
    scan = ["x", "d", "wb", "wc", "wd", "bd", "a"]
    c.run("attention/selective_scan", scan,
          lambda T, M=6, N=3: [c.normal(T, M), c.normal(M), c.normal(M, N, scale=0.4), c.normal(M, N, scale=0.4),
                               c.normal(M, M, scale=0.4), c.normal(M), c.normal(M, N, scale=0.5)],
          lambda *a, **_: f.selective_scan(*a), plain, ["y"],
          (shipped("attention", "x", *("scan_" + n for n in scan[1:])), {}))


def decoding(c):
    names = ["x0", "wq", "wk", "wv", "wo"]
    data = shipped("attention", "decode_x", "decode_wq", "decode_wk", "decode_wv", "decode_wo")
    make = lambda H, M=6, D=5, **_: [c.normal(M)] + [c.normal(H, M, D, scale=0.4) for _ in range(3)] + [c.normal(H, D, M, scale=0.4)]
    loose = (1e-4, 1e-4)
    formula = lambda *a, H=None, **z: f.decode(*a, **z)
    c.run("attention/decode_causal", names, make, formula,
          [(f"T{T}", {"H": 3, "T": T}, {"T": T}) for T in (0, 1, 2, 23)], ["y"], (data, {"T": 64}), loose)
    c.run("attention/decode_window", names, make, formula,
          [(f"T{T}_w{W}", {"H": 3, "T": T, "W": W}, {"T": T, "W": W}) for T, W in ((0, 3), (1, 5), (23, 5), (23, 1), (11, 64))],
          ["y"], (data, {"T": 64, "W": 16}), loose)


def signals(c):
    sunspots, nile = series("sunspots.csv", "sunspots"), series("nile.csv", "volume")
    make = lambda T, **_: [np.abs(c.normal(T, scale=50))]
    plain = [(f"T{T}", {"T": T}, {}) for T in LENGTHS]
    scale = (1e-5, 1e-3)
    c.run("signal/moving_average", ["x"], make, lambda x, W, **_: f.moving_average(x, W),
          [(f"T{T}_w{W}", {"T": T, "W": W}, {"W": W}) for T, W in ((0, 1), (1, 5), (13, 1), (37, 5), (13, 64))], ["y"],
          ([sunspots], {"W": 12}), scale)
    c.run("signal/ema", ["x"], make, lambda x, **_: f.ema(x, 0.1), plain, ["m", "s"], ([sunspots], {}), (2e-5, 1e-3))
    c.run("signal/record", ["x"], make, lambda x, **_: f.record(x), plain, ["high", "age"], ([nile], {}), (0, 0))
    c.run("signal/resample", ["x"], make, lambda x, K, **_: f.resample(x, K),
          [(f"T{T}_k{K}", {"T": T, "K": K}, {"K": K}) for T, K in ((0, 3), (2, 3), (3, 3), (13, 1), (37, 5))],
          ["year", "month"], ([sunspots], {"K": 12}), scale)
    c.run("signal/differences", ["x"], make, lambda x, **_: f.differences(x), plain, ["month", "year", "total"],
          ([sunspots], {}), (1e-5, 1e-2))
    weights = ["wx", "wh", "bx", "bh", "wo"]
    c.run("rnn_forward", ["x"] + weights,
          lambda T, M=5: [np.abs(c.normal(T, scale=50)), c.normal(3, 1, M), c.normal(3, M, M, scale=0.4), c.normal(3, M),
                          c.normal(3, M), c.normal(M)],
          lambda *a, **_: f.gru(*a), plain, ["y"], ([sunspots] + shipped("", *("gru_" + w for w in weights)), {}), (1e-4, 1e-5))


def others(c):
    board = lambda R, C, T: [(c.rng.uniform(size=(R, C)) < 0.4).astype(np.int32)]
    c.run("life", ["start"], board, lambda s, T, **_: f.life(s, T),
          [(f"{R}x{C}_T{T}", {"R": R, "C": C, "T": T}, {"T": T}) for R, C, T in ((3, 4, 0), (1, 1, 3), (5, 7, 11), (8, 3, 6))],
          ["cell"], (shipped("", "life"), {"T": 64}), (0, 0))
    rollout = lambda T, **_: [c.normal(T), c.normal(T), c.rng.uniform(size=T) < 0.2, c.normal()[()].reshape(())]
    own = shipped("", "reward", "value", "done", "last_value")
    c.run("gae", ["r", "value", "done", "last"], rollout, lambda *a, **_: f.gae(*a, 0.99, 0.95),
          [(f"T{T}", {"T": T}, {}) for T in LENGTHS], ["adv"], (own, {}))
    no_done = lambda T, **_: [a for a in rollout(T) if a.dtype != bool]
    c.run("nstep", ["r", "value", "last"], no_done, lambda r, v, last, n, **_: f.nstep(r, v, last, 0.99, n),
          [(f"T{T}_n{n}", {"T": T, "n": n}, {"n": n}) for T, n in ((0, 1), (1, 3), (13, 0), (13, 1), (37, 5), (13, 64))], ["g"],
          ([own[0], own[1], own[3]], {"n": 5}))


def build():
    c = Cases()
    attention(c)
    decoding(c)
    signals(c)
    others(c)
    return c.cases


def members(case):
    _, _, _, _, inputs, outputs = case
    return {**{"in." + n: np.array(a, order="C") for n, a in inputs.items()},
            **{"out." + n: np.array(a, order="C") for n, a in outputs.items()}}


def write(folder, cases):
    os.makedirs(folder, exist_ok=True)
    lines = []
    for case in cases:
        name, sample, (rtol, atol), settings, _, _ = case
        np.savez_compressed(os.path.join(folder, name + ".npz"), **members(case))
        lines.append(" ".join([name, sample, repr(rtol), repr(atol)] + [f"{k}={v}" for k, v in settings.items()]
                              + list(members(case))))
    with open(os.path.join(folder, "manifest.txt"), "w") as h:
        h.write("# name sample rtol atol settings members; written by generate.py\n" + "\n".join(lines) + "\n")


def check(folder, cases):
    bad = 0
    for case in cases:
        stored = np.load(os.path.join(folder, case[0] + ".npz"))
        for key, value in members(case).items():
            same = key in stored and stored[key].shape == value.shape and np.allclose(stored[key], value, rtol=1e-12, atol=1e-12)
            if not same:
                print(f"{case[0]}: {key} differs from what is stored")
                bad += 1
    return bad


def main():
    args = sys.argv[1:]
    cases = build()
    if args[:1] == ["--check"]:
        bad = check(args[1], cases)
        print(f"{len(cases)} cases, {bad} differences")
        sys.exit(1 if bad else 0)
    write(args[0], cases)
    print(f"{len(cases)} cases written to {args[0]}")


if __name__ == "__main__":
    main()
