"""Runs planned launches on the grader's virtual machine: `grader launch`, with a .npy file for each tensor."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch


def grader():
    """The grader's program: the one that the variable GRADER names, or else the one that the shell finds."""
    return os.environ.get("GRADER", "grader")


def run(folder, document, launches, buffers):
    """Runs `launches`, which read and write `buffers`: (tensor, element type, access) by name."""
    index = {name: i for i, name in enumerate(buffers)}

    def numbered(launch):
        args = [{"tensor": index[arg["tensor"]]} if "tensor" in arg else arg for arg in launch["args"]]
        constants = {symbol: index[name] for symbol, name in launch["constants"].items()}
        return {**launch, "args": args, "constants": constants}

    with tempfile.TemporaryDirectory(prefix="gradient-puzzles-") as temporary:
        files = {name: Path(temporary) / f"{i}.npy" for name, i in index.items()}
        plan = {
            "ptx": str(folder.resolve() / document["ptx"]),
            "source": str(folder.resolve() / document["source"]),
            "tensors": [
                {"name": name, "dtype": dtype, "shape": list(tensor.shape), "access": access, "file": files[name].name}
                for name, (tensor, dtype, access) in buffers.items()
            ],
            "launches": [numbered(launch) for launch in launches],
        }
        for name, (tensor, _, access) in buffers.items():
            if access in ("read", "update"):
                # NumPy has no bfloat16: such tensors travel as float32, which holds their values.
                np.save(files[name], (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy())
        path = Path(temporary) / "plan.json"
        path.write_text(json.dumps(plan))
        done = subprocess.run([grader(), "launch", str(path)], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        for name, (tensor, _, access) in buffers.items():
            if access in ("write", "update"):
                tensor.copy_(torch.from_numpy(np.load(files[name])))
