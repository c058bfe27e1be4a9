#!/bin/sh
# Compiles the kernels of this folder to the .ptx files beside them, which the tests read.
# Usage: NVCC=/path/to/nvcc ./build.sh
set -eu
cd "$(dirname "$0")"
for source in *.cu; do
    ptx=${source%.cu}.ptx
    arch=sm_75
    case $source in
    tensor.cu) arch=sm_80 ;; # cp.async
    esac
    "${NVCC:-nvcc}" -ptx -arch=$arch -lineinfo "$source" -o "$ptx"
    # Debug strings are of no use here, and folders of the machine do not belong into the repository.
    sed -i -e 's|\(\.file[[:space:]]*[0-9]* \)".*/|\1"|' -e '/^[[:space:]]*\.section/,$d' "$ptx"
done
