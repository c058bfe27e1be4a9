#!/bin/sh
# Compiles the kernels of this folder to the .ptx files beside them, which the tests read. Large ones are packed together with zstd, as ptx.zst:
# they have much in common.
# Usage: NVCC=/path/to/nvcc ./build.sh
set -eu
cd "$(dirname "$0")"
compile() { # source, result, options
    "${NVCC:-nvcc}" -ptx $3 "$1" -o "$2"
    # Debug strings are of no use here, and folders of the machine do not belong into the repository.
    sed -i -e 's|\(\.file[[:space:]]*[0-9]* \)".*/|\1"|' -e '/^[[:space:]]*\.section/,$d' "$2"
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
large=$(find . -name '*.ptx' -size +8k | sed 's|^\./||' | sort)
tail -n +1 $large | zstd -19 -q -f -o ptx.zst
rm $large
