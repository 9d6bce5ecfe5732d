"""Makes the small arrays of the samples: `python3 make.py` writes them next to itself. Seeded, so it is repeatable."""

import os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    rng = np.random.default_rng(20251)

    def save(name, *shape, scale=1.0, shift=0.0):
        np.save(os.path.join(HERE, name + ".npy"), (shift + scale * rng.standard_normal(shape)).astype(np.float32))

    T, D = 96, 16
    for name in ("q", "k", "v", "q2", "k2"):
        save(name, T, D)
    for name in ("memory_k", "memory_v"):
        save(name, 40, D)
    H, G, R = 4, 2, 3
    for name in ("heads_q", "heads_k", "heads_v"):
        save(name, H, 64, D)
    save("grouped_q", G, R, 64, D)
    save("grouped_k", G, 64, D)
    save("grouped_v", G, 64, D)

    M, C, P = 32, 8, 4  # model width, latent width, rotary width
    save("x", 64, M)
    save("latent_wc", M, C, scale=M**-0.5)
    save("latent_wq", H, M, D, scale=M**-0.5)
    save("latent_wk", H, C, D, scale=C**-0.5)
    save("latent_wv", H, C, D, scale=C**-0.5)
    save("latent_wqr", H, M, P, scale=M**-0.5)
    save("latent_wkr", M, P, scale=M**-0.5)

    N = 4  # states per channel
    save("scan_wd", M, M, scale=M**-0.5)
    save("scan_bd", M, scale=0.1, shift=-2.0)
    save("scan_wb", M, N, scale=M**-0.5)
    save("scan_wc", M, N, scale=M**-0.5)
    save("scan_a", M, N, scale=0.25, shift=0.5)
    save("scan_d", M)

    save("decode_x", M)
    for name in ("decode_wq", "decode_wk", "decode_wv"):
        save(name, H, M, D, scale=M**-0.5)
    save("decode_wo", H, D, M, scale=D**-0.5)


if __name__ == "__main__":
    main()
