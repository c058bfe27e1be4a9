#!/bin/sh
# Compiles the kernels of this folder to ../ptx.zst, which the tests read.
# Usage: NVCC=/path/to/nvcc ./build.sh
set -eu
cd "$(dirname "$0")"
. ../ptx.sh
compile() { # source, result, options
    "${NVCC:-nvcc}" -ptx $3 "$1" -o "$2"
    strip "$2"
}
for source in *.cu; do
    arch=sm_75
    case $source in
    tensor.cu | barrier_objects.cu) arch=sm_80 ;; # cp.async, mbarrier
    esac
    compile "$source" "${source%.cu}.ptx" "-lineinfo -arch=$arch"
done
compile lanes.cu lanes_O0.ptx "-lineinfo -arch=sm_80 -Xcicc -O0"
compile lanes.cu lanes_G.ptx "-arch=sm_90 -G"
# The instructions on barrier objects are others from sm_90 on.
compile barrier_objects.cu barrier_objects_sm90.ptx "-lineinfo -arch=sm_90"
pack
