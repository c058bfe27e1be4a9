"""What make.py and mma.py share: a GPU behind NVIDIA's driver, and random numbers that the tests make alike."""

import ctypes as c

import numpy as np

U = np.uint64


def mix(x):
    """SplitMix64."""
    x = x * U(0x9E3779B97F4A7C15) + U(0x9E3779B97F4A7C15)
    x = (x ^ (x >> U(30))) * U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> U(27))) * U(0x94D049BB133111EB)
    return x ^ (x >> U(31))


class Gpu:
    def __init__(self):
        self.driver = c.CDLL("libcuda.so.1")
        device, context = c.c_int(), c.c_void_p()
        self.check(self.driver.cuInit(0))
        self.check(self.driver.cuDeviceGet(c.byref(device), 0))
        self.check(self.driver.cuDevicePrimaryCtxRetain(c.byref(context), device))
        self.check(self.driver.cuCtxSetCurrent(context))

    def check(self, code):
        if code:
            raise RuntimeError(f"CUDA error {code}")

    def alloc(self, size):
        address = c.c_uint64()
        self.check(self.driver.cuMemAlloc_v2(c.byref(address), c.c_size_t(size)))
        return address

    def upload(self, array):
        address = self.alloc(array.nbytes)
        self.check(self.driver.cuMemcpyHtoD_v2(address, array.ctypes.data_as(c.c_void_p), c.c_size_t(array.nbytes)))
        return address

    def download(self, address, like):
        """An array of the same shape and type."""
        result = np.zeros_like(like)
        self.check(self.driver.cuMemcpyDtoH_v2(result.ctypes.data_as(c.c_void_p), address, c.c_size_t(result.nbytes)))
        return result

    def load(self, text):
        """A module, or None if the assembler refuses the PTX."""
        module = c.c_void_p()
        refused = self.driver.cuModuleLoadData(c.byref(module), text.encode() + b"\0")
        return None if refused else module

    def unload(self, module):
        self.driver.cuModuleUnload(module)

    def launch(self, module, name, grid, block, params):
        """Runs a kernel with these ctypes values, and waits for it."""
        function = c.c_void_p()
        self.check(self.driver.cuModuleGetFunction(c.byref(function), module, name.encode()))
        pointers = (c.c_void_p * len(params))(*(c.cast(c.byref(x), c.c_void_p) for x in params))
        self.check(self.driver.cuLaunchKernel(function, *grid, *block, 0, None, pointers, None))
        self.check(self.driver.cuCtxSynchronize())
