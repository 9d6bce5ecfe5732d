"""What the samples compute, as the plain formulas of their papers, in float64. No step is cleverer than its formula."""

import numpy as np


def softmax(x):
    if x.size == 0:
        return x
    e = np.exp(x - x.max())
    return e / e.sum()


def attend(q, k, v, visible, bias=None, scale=None):
    """y[t] = sum over s in visible(t) of softmax(k[s].q[t] / sqrt(D))[s] v[s]."""
    T = q.shape[0]
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    y = np.zeros((T, v.shape[1]))
    for t in range(T):
        s = np.array(sorted(visible(t)), dtype=int)
        logits = k[s] @ q[t] * scale
        if bias is not None:
            logits = logits + bias(t, s)
        y[t] = softmax(logits) @ v[s]
    return y


def causal(t):
    return range(t + 1)


def window(W):
    return lambda t: [s for s in range(t + 1) if t - s < W]


def sinks_window(S, W):
    return lambda t: [s for s in range(t + 1) if s < S or t - s < W]


def prefix(P):
    return lambda t, T: [s for s in range(T) if s <= t or s < P]


def dilated(W, G):
    return lambda t: [s for s in range(t + 1) if (t - s) % G == 0 and (t - s) // G < W]


def block_local(B, T):
    return lambda t: [s for s in range(T) if s // B == t // B]


def alibi(q, k, v):
    H = q.shape[0]
    out = [attend(q[h], k[h], v[h], causal, lambda t, s: -(2.0 ** (-8 * (h + 1) / H)) * (t - s)) for h in range(H)]
    return np.stack(out)


def grouped_query(q, k, v):
    return np.stack([[attend(q[g, r], k[g], v[g], causal) for r in range(q.shape[1])] for g in range(q.shape[0])])


def rotate(x, base=10000.0):
    """x[t, R] turned by t * base^(-2i/R), element i paired with i + R/2; as multiplication of complex numbers."""
    T, R = x.shape
    z = x[:, : R // 2] + 1j * x[:, R // 2 :]
    angle = np.arange(T)[:, None] * base ** (-2.0 * np.arange(R // 2) / R)
    z = z * np.exp(1j * angle)
    return np.concatenate([z.real, z.imag], axis=1)


def multi_latent(x, wc, wq, wqr, wk, wkr, wv):
    c = x @ wc
    kr = rotate(x @ wkr)
    y = []
    for h in range(wq.shape[0]):
        q = np.concatenate([x @ wq[h], rotate(x @ wqr[h])], axis=1)
        k = np.concatenate([c @ wk[h], kr], axis=1)
        y.append(attend(q, k, c @ wv[h], causal))
    return np.stack(y)


def linear(q, k, v):
    phi = lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + 1
    y = np.zeros(v.shape)
    for t in range(q.shape[0]):
        w = phi(k[: t + 1]) @ phi(q[t])
        y[t] = w @ v[: t + 1] / w.sum()
    return y


def retention(q, k, v, gamma):
    T = q.shape[0]
    age = np.arange(T)[:, None] - np.arange(T)[None, :]
    decay = np.where(age >= 0, gamma ** np.maximum(age, 0), 0)
    return (q @ k.T * decay) @ v


def differential(q1, q2, k1, k2, v, lam):
    return attend(q1, k1, v, causal) - lam * attend(q2, k2, v, causal)


def selective_scan(x, d, wb, wc, wd, bd, a):
    """y[t] = sum over s <= t of exp(A (delta[s+1] + .. + delta[t])) delta[s] x[s] (b[s].c[t]) + d x[t], per channel."""
    T, M = x.shape
    delta = np.log1p(np.exp(x @ wd + bd))
    b, c, A = x @ wb, x @ wc, -np.exp(a)
    y = d * x
    for t in range(T):
        for s in range(t + 1):
            decay = np.exp(A * delta[s + 1 : t + 1].sum(axis=0)[:, None])
            y[t] = y[t] + (decay * b[s] * c[t]).sum(axis=1) * delta[s] * x[s]
    return y


def decode(x0, wq, wk, wv, wo, T, W=None):
    H, M, D = wq.shape
    x, y = [x0], np.zeros((H, T, D))
    for t in range(T):
        lo = 0 if W is None else max(0, t - W + 1)
        seen = np.stack(x[lo : t + 1])
        for h in range(H):
            y[h, t] = softmax(seen @ wk[h] @ (x[t] @ wq[h]) / np.sqrt(D)) @ (seen @ wv[h]) if len(seen) else 0
        z = x[t] + sum(y[h, t] @ wo[h] for h in range(H))
        x.append(z / np.sqrt(np.mean(z * z) + 1e-5))
    return y


def moving_average(x, W):
    return np.array([x[max(0, t - W + 1) : t + 1].mean() for t in range(len(x))])


def ema(x, alpha):
    """Mean and variance under the weights (1-alpha)^t, alpha (1-alpha)^(t-1), .., alpha."""
    m, s = np.zeros(len(x)), np.zeros(len(x))
    for t in range(len(x)):
        w = alpha * (1 - alpha) ** np.arange(t, -1.0, -1.0)
        w[0] = (1 - alpha) ** t
        m[t] = w @ x[: t + 1]
        s[t] = w @ (x[: t + 1] - m[t]) ** 2
    return m, s


def record(x):
    """The highest value so far, and the distance to the last place where a value was the highest so far."""
    high = np.maximum.accumulate(x) if len(x) else x
    age = np.zeros(len(x), np.int32)
    for t in range(len(x)):
        age[t] = t - max(s for s in range(t + 1) if x[s] == high[t])
    return high, age


def resample(x, K):
    S = len(x) // K
    year = x[: S * K].reshape(S, K).mean(axis=1)
    month = np.interp(np.arange(S * K) / K, np.arange(S), year) if S else np.zeros(0)
    return year, month


def differences(x):
    month = np.concatenate([np.zeros(min(1, len(x))), np.diff(x)])
    year = np.concatenate([np.zeros(min(12, len(x))), x[12:] - x[:-12]])
    return month, year, x - x[:1]


def gru(x, wx, wh, bx, bh, wo):
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    h, y = np.zeros(wh.shape[1]), []
    for v in x:
        i = np.array([v / 100]) @ wx + bx
        s = h @ wh + bh
        r, z = sigmoid(i[0] + s[0]), sigmoid(i[1] + s[1])
        h = (1 - z) * np.tanh(i[2] + r * s[2]) + z * h
        y.append(h @ wo)
    return np.array(y).reshape(len(x))


def life(start, T):
    cells = [start]
    for _ in range(max(T - 1, 0)):
        c = cells[-1]
        near = sum(np.roll(c, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        cells.append(((near == 3) | ((c == 1) & (near == 2))).astype(np.int32))
    return np.stack(cells)[:T]


def gae(r, value, done, last, gamma, lam):
    """adv[t] = sum over k >= t of (gamma lambda)^(k-t) delta[k], up to the end of t's episode."""
    T = len(r)
    v = np.append(value, last)
    delta = r + gamma * np.where(done, 0, v[1:]) - v[:-1]
    adv = np.zeros(T)
    for t in range(T):
        for k in range(t, T):
            adv[t] += (gamma * lam) ** (k - t) * delta[k]
            if done[k]:
                break
    return adv


def nstep(r, value, last, gamma, n):
    T = len(r)
    v = np.append(value, last)
    g = np.zeros(T)
    for t in range(T):
        m = min(n, T - t)
        g[t] = sum(gamma**i * r[t + i] for i in range(m)) + gamma**m * v[t + m]
    return g
