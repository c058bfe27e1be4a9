"""Runs planned launches on a GPU, through the functions of the CUDA driver (libcuda.so.1)."""

import ctypes
import functools

import torch

SCALARS = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
}
# Launches with more dynamic shared memory than this must ask for it.
DEFAULT_SHARED = 48 * 1024
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


@functools.cache
def driver():
    return ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    """Calls a function of the driver. An error becomes an exception."""
    code = getattr(driver(), name)(*args)
    if code != 0:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")


class Module:
    """Machine code or PTX, loaded into the context in which PyTorch works."""

    def __init__(self, image, device):
        torch.cuda.init()
        self.device, self.functions = device, {}
        handle, self.context, self.module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        call("cuDeviceGet", ctypes.byref(handle), device.index or 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), handle)
        self.enter()
        # The bytes object ends with a zero byte, as the text of PTX must.
        call("cuModuleLoadData", ctypes.byref(self.module), ctypes.c_char_p(image))

    def enter(self):
        """Makes the context that of this thread: PyTorch computes gradients in threads of their own."""
        call("cuCtxSetCurrent", self.context)

    def function(self, symbol):
        if symbol not in self.functions:
            function = ctypes.c_void_p()
            call("cuModuleGetFunction", ctypes.byref(function), self.module, symbol.encode())
            self.functions[symbol] = function
        return self.functions[symbol]


def run(module, launches, buffers):
    """Runs `launches`, which read and write `buffers`: (tensor, element type, access) by name."""
    module.enter()
    stream = ctypes.c_void_p(torch.cuda.current_stream(module.device).cuda_stream)
    for launch in launches:
        for symbol, name in launch["constants"].items():
            copy_to_constant(module, symbol, buffers[name][0], stream)
        function, shared = module.function(launch["symbol"]), launch["shared"]
        if shared > DEFAULT_SHARED:
            call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        # The driver takes the addresses of the arguments and copies them before the call returns.
        values = [argument(arg, buffers) for arg in launch["args"]]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        shape = (*launch["grid"], *launch["block"], shared, stream, addresses)
        if launch["options"]["cooperative"]:
            call("cuLaunchCooperativeKernel", function, *shape)
        else:
            call("cuLaunchKernel", function, *shape, None)


def argument(arg, buffers):
    """The value of an argument, as C has it."""
    if "tensor" in arg:
        return ctypes.c_void_p(buffers[arg["tensor"]][0].data_ptr())
    if "int" in arg:
        return (ctypes.c_int64 if arg["bytes"] == 8 else ctypes.c_int32)(arg["int"])
    if arg["dtype"] in SCALARS:
        return SCALARS[arg["dtype"]](arg["value"])
    half = torch.tensor(arg["value"], dtype=torch.float16 if arg["dtype"] == "f16" else torch.bfloat16)
    return ctypes.c_int16(half.view(torch.int16).item())


def copy_to_constant(module, symbol, tensor, stream):
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module.module, symbol.encode())
    count = tensor.numel() * tensor.element_size()
    if count > size.value:
        raise ValueError(f"`{symbol}` has {size.value} bytes, its tensor has {count}")
    call("cuMemcpyDtoDAsync_v2", address, ctypes.c_uint64(tensor.data_ptr()), ctypes.c_size_t(count), stream)
