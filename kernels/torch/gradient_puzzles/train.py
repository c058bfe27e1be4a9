"""Trains LeNet twice from the same weights: with your kernels as backward passes, and with PyTorch's own.

    python -m gradient_puzzles.train FOLDER [--device cuda] [--solution] [--images N] [--epochs N] [--batch N]

FOLDER has MNIST's four files, or those of `grader digits`. The backward passes are puzzles 9 and 10 for the convolutions, 24
for the pooling, 4 for the ReLUs and 6 for the layers behind them.
"""

import argparse
import struct
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from .kernels import puzzle
from .layers import Conv2d, Linear, MaxPool2d, ReLU

LAYERS = {"conv1": (6, 1, 5, 5), "conv2": (16, 6, 5, 5), "fc1": (120, 256), "fc2": (84, 120), "fc3": (10, 84)}
PUZZLES = [4, 6, 9, 10, 24]


def read(folder, name, count, device):
    """The first images, (count, 1, 28, 28) from 0 to 1, and their labels."""
    images = (Path(folder) / f"{name}-images-idx3-ubyte").read_bytes()
    labels = (Path(folder) / f"{name}-labels-idx1-ubyte").read_bytes()
    _, all_images, rows, columns = struct.unpack(">4i", images[:16])
    pixels = torch.frombuffer(bytearray(images[16:]), dtype=torch.uint8).view(all_images, 1, rows, columns)
    labels = torch.frombuffer(bytearray(labels[8:]), dtype=torch.uint8)
    return (pixels[:count] / 255).to(device), labels[:count].long().to(device)


def first_weights(device):
    """Weights and biases of each layer, the same at each call: those of puzzle 15's initialisation."""
    generator = torch.Generator().manual_seed(15)
    result = {}
    for name, shape in LAYERS.items():
        weights = torch.nn.init.xavier_uniform_(torch.empty(shape), generator=generator)
        result[name] = [values.to(device).requires_grad_() for values in (weights, torch.zeros(shape[0]))]
    return result


def forward(weights, images, kernels):
    """The logits. Without kernels, all of it is PyTorch's."""
    if kernels is None:
        conv, linear, relu = F.conv2d, F.linear, F.relu
        pool = lambda x: F.max_pool2d(x, 2)
    else:
        conv = lambda x, w, b: Conv2d.apply(x, w, b, kernels[10], kernels[9])
        linear = lambda x, w, b: Linear.apply(x, w, b, kernels[6])
        relu = lambda x: ReLU.apply(x, kernels[4])
        pool = lambda x: MaxPool2d.apply(x, 2, 2, kernels[24])
    x = pool(relu(conv(images, *weights["conv1"])))
    x = pool(relu(conv(x, *weights["conv2"])))
    x = relu(linear(x.flatten(1), *weights["fc1"]))
    x = relu(linear(x, *weights["fc2"]))
    return linear(x, *weights["fc3"])


def train(images, labels, kernels, epochs, batch):
    """The weights after the training, and the loss of each step."""
    # Otherwise PyTorch's own convolutions round their factors to 11 bits on a GPU.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    weights = first_weights(images.device)
    parameters = [parameter for layer in weights.values() for parameter in layer]
    optimizer = torch.optim.SGD(parameters, lr=0.05)
    losses = []
    for _ in range(epochs):
        for start in range(0, len(images), batch):
            optimizer.zero_grad()
            logits = forward(weights, images[start : start + batch], kernels)
            loss = F.cross_entropy(logits, labels[start : start + batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return weights, torch.stack(losses).cpu()


def accuracy(weights, images, labels):
    with torch.no_grad():
        return (forward(weights, images, None).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description="Train LeNet with your kernels as backward passes.")
    parser.add_argument("folder", help="MNIST's four files, or those of `grader digits`")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--solution", action="store_true", help="take the solutions instead of your files")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    args = parser.parse_args()
    options = ["--solution"] * args.solution
    own = {number: puzzle(number, *options) for number in PUZZLES}
    images, labels = read(args.folder, "train", args.images, args.device)
    test = read(args.folder, "t10k", 1000, args.device)
    losses = {}
    for name, kernels in [("your kernels", own), ("PyTorch", None)]:
        begin = time.perf_counter()
        weights, losses[name] = train(images, labels, kernels, args.epochs, args.batch)
        print(
            f"{name:12}: loss {losses[name][0]:.4f} at first, {losses[name][-20:].mean():.4f} over the last 20 steps; "
            f"accuracy {accuracy(weights, *test):.4f}; {time.perf_counter() - begin:.1f} s"
        )
    apart = (losses["your kernels"] - losses["PyTorch"]).abs()
    print(f"the losses differ by {apart[0]:.1e} in the first step, by {apart[:20].max():.1e} at most in the first 20")


if __name__ == "__main__":
    main()
