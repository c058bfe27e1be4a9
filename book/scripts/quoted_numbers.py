"""Recomputes the measured numbers that the book quotes. Needs Python 3 and NumPy; takes about a minute.

    python3 book/scripts/quoted_numbers.py

Each function says which chapter quotes it. Seeds are fixed, so every run prints the same.
"""

import numpy as np

F = 3  # the filters here are 3 x 3


def flipped_twice():
    """Chapter 29: what a filter that is rotated twice costs."""
    rng = np.random.default_rng(29)
    n, h, w, c, k = 2, 8, 8, 16, 16
    x, weights, g = rng.normal(size=(n, h, w, c)), rng.normal(size=(k, F, F, c)), rng.normal(size=(n, h, w, k))

    def gradient(flip):
        dx = np.zeros_like(x)
        for kh in range(F):
            for kw in range(F):
                part = weights[:, 2 - kh, 2 - kw] if flip else weights[:, kh, kw]
                for i in range(h):
                    for j in range(w):
                        oh, ow = i - kh + 1, j - kw + 1
                        if 0 <= oh < h and 0 <= ow < w:
                            dx[:, i, j] += g[:, oh, ow] @ part
        return dx

    numeric = central(lambda: np.sum(forward(x, weights) * g), x)
    print("29: largest element", f"{np.abs(numeric).max():.1f}")
    for name, flip in (("formula", False), ("double rotation", True)):
        print(f"    error of the {name:16}", f"{np.abs(gradient(flip) - numeric).max():.2g}")


def forward(x, weights):
    """A convolution in NHWC with a padding of 1."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    h, w = x.shape[1:3]
    return sum(padded[:, kh:kh + h, kw:kw + w] @ weights[:, kh, kw].T for kh in range(F) for kw in range(F))


def central(loss, x, eps=0.5):
    """The numerical gradient: exact for any step, since the loss is linear in x."""
    grad = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        old = x[i]
        x[i] = old + eps
        up = loss()
        x[i] = old - eps
        grad[i] = (up - loss()) / (2 * eps)
        x[i] = old
    return grad


def mask_after():
    """Chapter 31: the mask of a ReLU applied after the transposed convolution, not before it."""
    rng = np.random.default_rng(31)
    n, h, w, c = 2, 8, 8, 16
    x, weights, g = rng.normal(size=(n, h, w, c)), rng.normal(size=(c, F, F, c)), rng.normal(size=(n, h, w, c))
    z = forward(x, weights)

    def gradient(masked):
        padded = np.pad(masked, ((0, 0), (1, 1), (1, 1), (0, 0)))
        return sum(padded[:, 2 - kh:2 - kh + h, 2 - kw:2 - kw + w] @ weights[:, kh, kw]
                   for kh in range(F) for kw in range(F))

    numeric = central(lambda: np.sum(np.where(z <= 0, 0, forward(x, weights)) * g), x)
    print("31: largest element", f"{np.abs(numeric).max():.1f}")
    for name, result in (("mask first", gradient(np.where(z <= 0, 0, g))), ("mask last", np.where(z <= 0, 0, gradient(g)))):
        cosine = np.sum(result * numeric) / np.linalg.norm(result) / np.linalg.norm(numeric)
        print(f"    {name:10} error {np.abs(result - numeric).max():.2g}, cosine {cosine:.2f}")


def shifted_input():
    """Chapter 34: the gradient of the weights, reading the input one place off."""
    rng = np.random.default_rng(34)
    n, h, w, c, k = 4, 8, 8, 4, 4
    x, g = rng.normal(size=(n, h, w, c)), rng.normal(size=(n, h, w, k))
    weights = rng.normal(size=(k, F, F, c))

    def gradient(shift):
        padded = np.pad(x, ((0, 0), (1, 2), (1, 2), (0, 0)))
        patch = lambda kh, kw: padded[:, kh + shift:kh + shift + h, kw + shift:kw + shift + w]
        return np.stack([np.stack([np.tensordot(g, patch(kh, kw), ((0, 1, 2), (0, 1, 2))) for kw in range(F)], 1)
                         for kh in range(F)], 1)

    numeric = central(lambda: np.sum(forward(x, weights) * g), weights)
    print("34: largest element", f"{np.abs(numeric).max():.1f}")
    for name, shift in (("formula", 0), ("input without -1", 1)):
        print(f"    error of the {name:16}", f"{np.abs(gradient(shift) - numeric).max():.2g}")


def half_sums():
    """Chapter 34: 0.01 added again and again."""
    term = np.float16(0.01)
    print("34: the half nearest to 0.01 is", float(term), "and 65,536 times that", 65536 * float(term))
    half, single = np.float16(0), np.float32(0)
    for count in range(1, 65537):
        half, single = np.float16(half + term), np.float32(single + np.float32(term))
        if count in (100, 1600, 4096, 65536):
            print(f"    {count:6} terms   exact {count * float(term):8.3f}   float {single:8.3f}   half {half:8.3f}")


def half_mask():
    """Chapter 33: eight lanes shuffle, and each reads its own value where the other lane is missing."""
    lanes = [float(s) for s in range(1, 9)]  # the sums of eight warps
    total = sum(lanes)
    for offset in (16, 8, 4, 2, 1):
        lanes = [v + (lanes[i + offset] if i + offset < 8 else v) for i, v in enumerate(lanes)]
    print(f"33: eight sums add up to {total:.0f}; with eight lanes lane 0 gets {lanes[0]:.0f}")


def numerical_check():
    """Chapter 10: how often the usual check in single precision rejects a right kernel."""
    seeds, rejected, rejected64 = 200, 0, 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (5, 5)).astype(np.float32)
        weights = rng.uniform(-1, 1, (3, 3)).astype(np.float32)

        def loss(image, kind):
            out = [[np.sum(image[i:i + 3, j:j + 3] * weights.astype(kind), dtype=kind) for j in range(3)]
                   for i in range(3)]
            return np.sum(np.array(out, kind), dtype=kind)

        right = np.zeros((5, 5))
        for i in range(3):
            for j in range(3):
                right[i:i + 3, j:j + 3] += weights
        for kind in (np.float32, np.float64):
            worst = 0.0
            for i in np.ndindex(5, 5):
                up, down = x.astype(kind), x.astype(kind)
                up[i] += kind(1e-3)
                down[i] -= kind(1e-3)
                slope = (loss(up, kind) - loss(down, kind)) / kind(2e-3)
                worst = max(worst, abs(slope - right[i]) / max(abs(slope), abs(right[i]), 1e-2))
            if kind == np.float32:
                rejected += worst > 1e-2
            else:
                rejected64 += worst > 1e-2
    print(f"10: a step of 1e-3 and 1 % allowed: {rejected} of {seeds} seeds rejected in float, {rejected64} in double")


def one_pass_variance():
    """Chapters 40 and 44: the mean of squares less the square of the mean."""
    x = np.tile(np.array([999.9, 1000.1], np.float32), 4)
    mean = np.mean(x)
    one_pass = np.mean(x * x) - mean * mean
    two_pass = np.mean((x - mean) ** 2)
    print(f"44: 999.9 and 1000.1, four times each: one pass {one_pass:.4g}, two passes {two_pass:.4g}")
    rng = np.random.default_rng(44)
    x = (1000 + 0.1 * rng.normal(size=64)).astype(np.float32)
    sums = np.float32(0), np.float32(0)
    for v in x:  # as a thread adds up
        sums = np.float32(sums[0] + v), np.float32(sums[1] + v * v)
    mean = sums[0] / np.float32(64)
    two_pass = np.float32(0)
    for v in x:
        two_pass = np.float32(two_pass + (v - mean) * (v - mean))
    welford_mean, m2 = np.float32(0), np.float32(0)
    for n, v in enumerate(x, 1):
        step = v - welford_mean
        welford_mean = np.float32(welford_mean + step / np.float32(n))
        m2 = np.float32(m2 + step * (v - welford_mean))
    print(f"    64 values of 1000 with a spread of 0.1: one pass {sums[1] / np.float32(64) - mean * mean:.4g}, "
          f"two passes {two_pass / np.float32(64):.4g}, Welford {m2 / np.float32(64):.4g}, right {np.var(x.astype(float)):.4g}")


def diagonal():
    """Chapter 41: the diagonal of the Jacobian instead of all of it, rows of 8 features."""
    rng = np.random.default_rng(41)
    errors = []
    for _ in range(2000):
        x, g = rng.normal(size=8), rng.normal(size=8)
        s = 1 / np.sqrt(np.var(x) + 1e-5)
        n = (x - x.mean()) * s
        right = s * (g - g.mean() - n * np.mean(g * n))
        wrong = s * g * (1 - 1 / 8 - n * n / 8)
        errors.append(np.linalg.norm(wrong - right) / np.linalg.norm(right))
    print(f"41: error of the diagonal in parts of the gradient's length: median {np.median(errors):.2f}, least {min(errors):.2f}")


def overflow():
    """Chapter 05: when exp overflows, and when a row of them is all 0."""
    exp = lambda v: np.exp(np.float32(v))
    with np.errstate(over="ignore"):
        print(f"05: exp(88.7) = {exp(88.7):.4g}, exp(88.8) = {exp(88.8)}, ten times exp(87) = {np.float32(10) * exp(87)}")
    print(f"    exp(-103) = {exp(-103):.3g}, exp(-104) = {exp(-104)}")


for chapter in (overflow, numerical_check, flipped_twice, mask_after, half_mask, half_sums, shifted_input, diagonal, one_pass_variance):
    chapter()
