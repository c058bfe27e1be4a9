"""Compares the backward passes of puzzles 10, 24, 41 and 44 with numerical derivatives, by torch.autograd.gradcheck.

    python -m gradient_puzzles.check [--device cuda] [--solution] [--fast] [NUMBER ...]

gradcheck needs double precision: it moves each input by 1e-6 up and down, and float would lose the difference. So the
networks here are of double and the forward pass is PyTorch's, but the kernels under test stay as they are: their inputs are
rounded to float, and what they write is converted back. Each element of their result may then be off by some roundings of
float, of at most 2^-24 of the numbers in its sum each. TOLERANCE allows 32 of them; the numerical derivatives are good to
1e-9. It was fixed before the first run, and holds for all four puzzles.
"""

import argparse
import sys

import torch
from torch.autograd import gradcheck

from .kernels import puzzle
from .layers import Conv2d, LayerNorm, LayerNormLinear, MaxPool2d

EPS = 1e-6
TOLERANCE = 32 * 2.0**-24


def function(number, kernels, device):
    """A function that has the puzzle's kernels as its backward pass, and inputs for it."""
    generator = torch.Generator().manual_seed(number)

    def normal(*shape, gradient=True):
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        return values.to(device).requires_grad_(gradient)

    if number == 10:
        filters = normal(3, 2, 2, 2, gradient=False)
        return lambda x: Conv2d.apply(x, filters, None, kernels), [normal(2, 2, 3, 4)]
    if number == 24:
        # Windows of 3 x 3 at a distance of 2 overlap, and the last column is in none.
        return lambda x: MaxPool2d.apply(x, 3, 2, kernels), [normal(2, 2, 5, 6)]
    if number == 41:
        gamma, beta = normal(7, gradient=False), normal(7, gradient=False)
        return lambda x: LayerNorm.apply(x, gamma, beta, 1e-5, kernels), [normal(3, 7)]
    if number == 44:
        inputs = [normal(*shape) for shape in [(2, 3, 5), (5,), (5,), (4, 5), (4,)]]
        return lambda *inputs: LayerNormLinear.apply(*inputs, 1e-5, kernels), inputs
    raise ValueError(f"puzzle {number} is not one of 10, 24, 41 and 44")


def check(number, kernels, device="cpu", fast=False):
    """Raises `torch.autograd.gradcheck.GradcheckError` if the kernels' gradients are wrong.

    With `fast`, gradcheck compares one random combination of all derivatives, instead of each by itself.
    """
    of, inputs = function(number, kernels, device)
    # Atomic additions give other last bits in another order: the second run may differ by as much.
    gradcheck(of, inputs, eps=EPS, atol=TOLERANCE, rtol=TOLERANCE, nondet_tol=TOLERANCE, fast_mode=fast)


def main():
    parser = argparse.ArgumentParser(description="Compare backward passes with numerical derivatives.")
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="10, 24, 41, 44 [default: all four]")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--solution", action="store_true", help="check the solutions instead of your files")
    parser.add_argument("--fast", action="store_true", help="compare one combination of the derivatives of each input")
    args = parser.parse_args()
    wrong = 0
    for number in args.numbers or [10, 24, 41, 44]:
        kernels = puzzle(number, *["--solution"] * args.solution)
        try:
            check(number, kernels, args.device, args.fast)
            print(f"puzzle {number}: the gradients are those of the numerical derivatives")
        except RuntimeError as error:  # gradcheck's own error is one, and that of the virtual machine
            wrong += 1
            # gradcheck goes on with both matrices of derivatives.
            print(f"puzzle {number}: {str(error).split(chr(10) + 'numerical')[0]}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
