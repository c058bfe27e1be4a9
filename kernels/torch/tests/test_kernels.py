"""Tests of the package, with the workbook's solutions: `python -m unittest discover kernels/torch/tests` in the workbook.

The variable GRADER names the grader's program. Without a GPU, the kernels run on the virtual machine.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
import torch.nn.functional as F
from torch.autograd.gradcheck import GradcheckError

from gradient_puzzles import kernels, train, vm
from gradient_puzzles.check import check

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# Each kernel launch is a process of its own on the virtual machine.
FAST = DEVICE == "cpu"


class Gradients(unittest.TestCase):
    def test_solutions_have_the_numerical_derivatives(self):
        for number in [10, 24, 41, 44]:
            with self.subTest(number):
                check(number, kernels.puzzle(number, "--solution"), DEVICE, FAST)

    def test_a_wrong_kernel_is_noticed(self):
        source = Path("solutions/10_conv_backward_input.cu").read_text()
        self.assertEqual(source.count("+ fh) * F + fw"), 1)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "wrong.cu"
            file.write_text(source.replace("+ fh) * F + fw", "+ fw) * F + fh"))
            wrong = kernels.puzzle(10, "--file", str(file))
        with self.assertRaises(GradcheckError):
            check(10, wrong, DEVICE, FAST)

    def test_lenet_takes_the_same_steps_as_with_pytorch(self):
        own = {number: kernels.puzzle(number, "--solution") for number in train.PUZZLES}
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([vm.grader(), "digits", folder, "--train", "8", "--test", "1"], check=True, capture_output=True)
            images, labels = train.read(folder, "train", 8, DEVICE)
        _, losses = train.train(images, labels, own, 1, 4)
        _, pytorch = train.train(images, labels, None, 1, 4)
        torch.testing.assert_close(losses, pytorch, rtol=1e-5, atol=1e-5)


class Launches(unittest.TestCase):
    """What kernels are given beside pointers and sizes. Small integers, so that every order of additions is exact."""

    def integers(self, *shape):
        return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(1)).float().to(DEVICE)

    def test_constants_are_filled(self):
        images, filters = self.integers(2, 9, 34), self.integers(3, 2, 3, 3)
        wrote = kernels.puzzle(21, "--solution").run({"X": images, "filters": filters})
        self.assertTrue(torch.equal(wrote["Y"], F.conv2d(images[None], filters)[0]))

    def test_halves_and_dynamic_shared_memory(self):
        grad, weights = self.integers(1, 3, 4, 64), self.integers(64, 3, 3, 64)
        wrote = kernels.puzzle(30, "--solution").run(
            {"grad(output)": grad, "weights": weights}, only=["conv_bwd_input_smem_dynamic"], KT=64, CT=64
        )
        planes = F.conv_transpose2d(grad.permute(0, 3, 1, 2), weights.permute(0, 3, 1, 2), padding=1)
        self.assertEqual(wrote["grad(input)"].dtype, torch.float16)
        self.assertTrue(torch.equal(wrote["grad(input)"].float(), planes.permute(0, 2, 3, 1)))


class Arguments(unittest.TestCase):
    """What is asked of a caller: no kernel runs."""

    def setUp(self):
        self.kernels = kernels.puzzle(10, "--solution")
        self.given = {"grad(output)": torch.ones(1, 1, 3, 3), "filters": torch.ones(1, 1, 3, 3)}

    def test_a_size_that_no_shape_tells_is_named(self):
        with self.assertRaisesRegex(ValueError, "pass H="):
            self.kernels.run(self.given, W=5)

    def test_sizes_that_contradict_each_other_are_named(self):
        with self.assertRaisesRegex(ValueError, "`H_out` would be both 3 and 4"):
            self.kernels.run(self.given, H=6, W=5)

    def test_a_missing_tensor_and_an_unknown_one_are_named(self):
        with self.assertRaisesRegex(ValueError, "read `filters`"):
            self.kernels.run({"grad(output)": torch.ones(1, 1, 3, 3)}, H=5, W=5, C_in=1, F=3)
        with self.assertRaisesRegex(ValueError, "no tensor `weights`"):
            self.kernels.run({**self.given, "weights": torch.ones(1)}, H=5, W=5)

    def test_the_callers_tensors_stay_as_they_are(self):
        wrote = self.kernels.run(self.given, H=5, W=5)
        self.assertEqual(wrote["grad(input)"][0, 0, 2, 2].item(), 9)
        self.assertTrue(torch.equal(self.given["filters"], torch.ones(1, 1, 3, 3)))


if __name__ == "__main__":
    unittest.main()
