"""Makes the small arrays of the samples next to itself. Seeded, so it is repeatable: `python3 make.py`."""

import os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, array):
    np.save(os.path.join(HERE, name + ".npy"), array)


def recurrent_weights(rng):
    n, m = 1, 8
    for name, shape in (("wx", (3, n, m)), ("wh", (3, m, m)), ("bx", (3, m)), ("bh", (3, m)), ("wo", (m,))):
        save("gru_" + name, rng.uniform(-(m**-0.5), m**-0.5, shape).astype(np.float32))


def rollout(rng, T=50):
    save("reward", rng.normal(0, 1, T).astype(np.float32))
    save("value", rng.normal(0, 1, T).astype(np.float32))
    save("done", rng.uniform(0, 1, T) < 0.15)
    save("last_value", np.float32(rng.normal()))


def life():
    board = np.zeros((16, 20), np.int32)
    for r, c in ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2)):  # a glider
        board[r, c] = 1
    for r, c in ((8, 10), (8, 11), (9, 9), (9, 10), (10, 10)):  # the R-pentomino
        board[r, c] = 1
    save("life", board)


if __name__ == "__main__":
    generator = np.random.default_rng(7)
    recurrent_weights(generator)
    rollout(generator)
    life()
