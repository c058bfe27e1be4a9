"""The kernels of a puzzle, as `grader export` writes them, with torch tensors as arguments."""

import json
import subprocess
import tempfile
import weakref
from pathlib import Path

import torch

from . import gpu, vm

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
}

# The functions of expressions of sizes. Division rounds down.
FUNCTIONS = {
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "__builtins__": {},
}


def puzzle(number, *options):
    """Exports a puzzle with `grader export NUMBER OPTIONS...`, and gives its kernels: `puzzle(10, "--solution")`."""
    folder = tempfile.TemporaryDirectory(prefix="gradient-puzzles-")
    command = [vm.grader(), "export", str(number), "--out", folder.name, *options]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    kernels = Kernels(folder.name)
    weakref.finalize(kernels, folder.cleanup)
    return kernels


class Kernels:
    """The kernels in a folder that `grader export` wrote."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.document = json.loads((self.folder / "launches.json").read_text())
        self.modules = {}

    def run(self, given, only=None, **sizes):
        """Launches the kernels in their order and returns what they write: a dictionary of tensors by name.

        `given` has the tensors that they read and the numbers that they take by value. Sizes are read from the shapes of
        the tensors; those that no shape tells are keyword arguments. `only` names the kernels to launch, if not all.

        Tensors are converted to the element types of the kernels. On a GPU, the kernels run on PyTorch's current stream;
        tensors on the CPU are handed to the virtual machine.
        """
        launches = [of for of in self.document["launches"] if only is None or of["kernel"] in only]
        tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        device = next(iter(tensors.values())).device
        sizes = self._sizes(tensors, sizes)

        buffers = {}
        for name, access in accesses(launches).items():
            of = self.document["tensors"][name]
            shape = [evaluate(size, sizes) for size in of["shape"]]
            dtype = DTYPES[of["dtype"]]
            if access in ("read", "update"):
                if name not in tensors:
                    raise ValueError(f"the kernels read `{name}`: give this tensor")
                if list(tensors[name].shape) != shape:
                    raise ValueError(f"`{name}` has shape {list(tensors[name].shape)}, not {shape}")
                buffer = tensors[name].detach().to(device=device, dtype=dtype).contiguous()
                # What is changed in place is a copy: the caller's tensor stays as it is.
                buffer = buffer.clone() if access == "update" else buffer
            else:
                buffer = torch.empty(shape, dtype=dtype, device=device)
            buffers[name] = (buffer, of["dtype"], access)

        planned = [plan(launch, sizes, given) for launch in launches]
        if device.type == "cuda":
            gpu.run(self._module(device), planned, buffers)
        else:
            vm.run(self.folder, self.document, planned, buffers)
        return {name: buffer for name, (buffer, _, access) in buffers.items() if access in ("write", "update")}

    def _sizes(self, tensors, sizes):
        """All sizes that follow from shapes and from the sizes that are given."""
        sizes = dict(sizes)

        def add(name, number):
            if sizes.setdefault(name, number) != number:
                raise ValueError(f"the size `{name}` would be both {sizes[name]} and {number}")

        for name, tensor in tensors.items():
            if name not in self.document["tensors"]:
                raise ValueError(f"there is no tensor `{name}`, only {', '.join(self.document['tensors'])}")
            for size, number in zip(self.document["tensors"][name]["shape"], tensor.shape):
                if size.isidentifier():
                    add(size, number)
        for size in self.document["derived_sizes"]:
            try:
                add(size["name"], eval(size["is"], FUNCTIONS, sizes))
            except NameError:
                pass  # It may be known from a shape, or not be needed.
        return sizes

    def _module(self, device):
        """The module on a GPU: machine code if there is some for this GPU, else PTX, which the driver compiles."""
        if device not in self.modules:
            cubin, (major, minor) = self.document["cubin"], torch.cuda.get_device_capability(device)
            fits = cubin is not None and cubin["sm"] == 10 * major + minor
            file = cubin["file"] if fits else self.document["ptx"]
            self.modules[device] = gpu.Module((self.folder / file).read_bytes(), device)
        return self.modules[device]


def accesses(launches):
    """What the launches together do with each tensor: `read`, `write`, `update` or `workspace`."""
    result = {}
    for launch in launches:
        uses = [(arg["tensor"], arg["access"]) for arg in launch["args"] if "tensor" in arg]
        for name, access in uses + [(name, "read") for name in launch["constants"].values()]:
            before = result.setdefault(name, access)
            if before == "read" and access in ("write", "update"):
                result[name] = "update"
    return result


def evaluate(size, sizes):
    """The value of an expression of sizes."""
    try:
        return eval(size, FUNCTIONS, sizes)
    except NameError as error:
        raise ValueError(f"no shape tells the size `{error.name}`: pass {error.name}=...") from None


def plan(launch, sizes, given):
    """A launch with numbers for all sizes."""

    def argument(arg):
        if "tensor" in arg:
            return {"tensor": arg["tensor"]}
        if "size" in arg:
            return {"int": evaluate(arg["size"], sizes), "bytes": arg["bytes"]}
        if arg["scalar"] not in given:
            raise ValueError(f"the kernels take the number `{arg['scalar']}`: give it")
        return {"value": float(given[arg["scalar"]]), "dtype": arg["dtype"]}

    def axes(extents):
        return ([evaluate(extent, sizes) for extent in extents] + [1, 1])[:3]

    return {
        "kernel": launch["kernel"],
        "symbol": launch["symbol"],
        "grid": axes(launch["grid"]),
        "block": axes(launch["block"]),
        "shared": evaluate(launch["shared"], sizes),
        "options": launch["options"],
        "args": [argument(arg) for arg in launch["args"]],
        "constants": launch["constants"],
    }
