"""Layers whose backward passes are kernels of the puzzles. Forward, PyTorch computes.

Each backward pass hands the kernels what autograd saved, and gives autograd what they wrote. Kernels of float work in float
even where the network is of double: their results are then converted.
"""

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable


# ANCHOR: conv
class Conv2d(Function):
    """A convolution of stride 1 without padding. `kernels` are those of puzzle 10, and of puzzle 9 if it is given."""

    @staticmethod
    def forward(ctx, input, filters, bias, kernels, filter_kernels=None):
        ctx.save_for_backward(input, filters)
        ctx.kernels = kernels, filter_kernels
        return F.conv2d(input, filters, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        input, filters = ctx.saved_tensors
        kernels, filter_kernels = ctx.kernels
        height, width = input.shape[2:]
        grad_input = grad_filters = grad_bias = None
        if ctx.needs_input_grad[0]:
            given = {"grad(output)": grad, "filters": filters}
            grad_input = kernels.run(given, H=height, W=width)["grad(input)"].to(grad.dtype)
        if ctx.needs_input_grad[1] and filter_kernels is not None:
            given = {"grad(output)": grad, "input": input}
            wrote = filter_kernels.run(given, F=filters.shape[2])
            grad_filters, grad_bias = (wrote[name].to(grad.dtype) for name in ("grad(filters)", "grad(bias)"))
        elif ctx.needs_input_grad[1]:
            grad_filters = torch.nn.grad.conv2d_weight(input, filters.shape, grad)
            grad_bias = grad.sum((0, 2, 3))
        return grad_input, grad_filters, grad_bias, None, None
# ANCHOR_END: conv


# ANCHOR: pool
class MaxPool2d(Function):
    """The maximum of each window. `kernels` are those of puzzle 24."""

    @staticmethod
    def forward(ctx, input, size, stride, kernels):
        output, places = F.max_pool2d(input, size, stride, return_indices=True)
        ctx.save_for_backward(places)
        ctx.kernels, ctx.shape = kernels, input.shape
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (places,) = ctx.saved_tensors
        height, width = ctx.shape[2:]
        # The puzzle counts planes, whatever image and channel they belong to.
        given = {"grad(Y)": grad.flatten(0, 1), "idx": places.flatten(0, 1)}
        grad_input = ctx.kernels.run(given, H=height, W=width)["grad(X)"]
        return grad_input.view(ctx.shape).to(grad.dtype), None, None, None
# ANCHOR_END: pool


class LayerNorm(Function):
    """Normalises rows. `kernels` are those of puzzle 41, which computes the gradient of the input."""

    @staticmethod
    def forward(ctx, x, gamma, beta, eps, kernels):
        mean = x.mean(-1)
        rstd = (x.var(-1, correction=0) + eps).rsqrt()
        ctx.save_for_backward(x, gamma, mean, rstd)
        ctx.kernels = kernels
        return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, gamma, mean, rstd = ctx.saved_tensors
        given = {"grad(y)": grad, "x": x, "gamma": gamma, "mean": mean, "rstd": rstd}
        grad_x = ctx.kernels.run(given)["grad(x)"].to(grad.dtype)
        normalised = (x - mean[:, None]) * rstd[:, None]
        return grad_x, (grad * normalised).sum(0), grad.sum(0), None, None


class LayerNormLinear(Function):
    """Layer normalisation and a linear layer behind it. `kernels` are those of puzzle 44: five gradients at once."""

    @staticmethod
    def forward(ctx, x, gamma, beta, weights, bias, eps, kernels):
        ctx.save_for_backward(x, gamma, beta, weights)
        ctx.eps, ctx.kernels = eps, kernels
        return F.linear(F.layer_norm(x, x.shape[-1:], gamma, beta, eps), weights, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        given = dict(zip(("x", "gamma", "beta", "W"), ctx.saved_tensors))
        wrote = ctx.kernels.run({**given, "grad(y)": grad, "eps": ctx.eps})
        names = ("x", "gamma", "beta", "W", "bias")
        return *(wrote[f"grad({name})"].to(grad.dtype) for name in names), None, None


class ReLU(Function):
    """`kernels` are those of puzzle 4."""

    @staticmethod
    def forward(ctx, input, kernels):
        ctx.save_for_backward(input)
        ctx.kernels = kernels
        return F.relu(input)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (input,) = ctx.saved_tensors
        given = {"grad(output)": grad.flatten(), "input": input.flatten()}
        wrote = ctx.kernels.run(given, only=["relu_backward"])
        return wrote["grad(input)"].view_as(input).to(grad.dtype), None


class Linear(Function):
    """A fully connected layer. `kernels` are those of puzzle 6."""

    @staticmethod
    def forward(ctx, input, weights, bias, kernels):
        ctx.save_for_backward(input, weights)
        ctx.kernels = kernels
        return F.linear(input, weights, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        input, weights = ctx.saved_tensors
        wrote = ctx.kernels.run({"grad(output)": grad, "input": input, "weights": weights})
        names = ("input", "weights", "bias")
        return *(wrote[f"grad({name})"].to(grad.dtype) for name in names), None
