#!/bin/sh
# Compiles the kernels of this folder to ../ptx.zst, which the tests read.
# Usage: NVCC=/path/to/nvcc ./build.sh
set -eu
cd "$(dirname "$0")"
. ../ptx.sh
"${NVCC:-nvcc}" -ptx -arch=sm_75 -lineinfo patterns.cu -o patterns.ptx
strip patterns.ptx
pack
