#!/bin/sh
# Compiles the kernels of this folder to ../ptx.zst, which the tests load.
# Usage: NVCC=/path/to/nvcc ./build.sh
set -eu
cd "$(dirname "$0")"
. ../ptx.sh
for source in *.cu; do
    "${NVCC:-nvcc}" -ptx -arch=sm_90 "$source" -o "${source%.cu}.ptx"
done
# Other shapes of the same: as a debugger wants them, without calls of the long functions.
for source in memory others; do
    "${NVCC:-nvcc}" -ptx -arch=sm_80 -G "$source.cu" -o "${source}_G.ptx"
done
strip ./*.ptx
pack
