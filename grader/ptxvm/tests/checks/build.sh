#!/bin/sh
# Compiles the kernels of this folder to the .ptx files beside them, which the tests read.
# Usage: NVCC=/path/to/nvcc ./build.sh
set -eu
cd "$(dirname "$0")"
# The instructions on barrier objects are others from sm_90 on.
for source in *.cu barrier_objects_sm90; do
    ptx=${source%.cu}.ptx
    arch=sm_75
    case $source in
    tensor.cu | barrier_objects.cu) arch=sm_80 ;; # cp.async, mbarrier
    barrier_objects_sm90) arch=sm_90 source=barrier_objects.cu ;;
    esac
    "${NVCC:-nvcc}" -ptx -arch=$arch -lineinfo "$source" -o "$ptx"
    # Debug strings are of no use here, and folders of the machine do not belong into the repository.
    sed -i -e 's|\(\.file[[:space:]]*[0-9]* \)".*/|\1"|' -e '/^[[:space:]]*\.section/,$d' "$ptx"
done
