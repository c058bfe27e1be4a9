#!/bin/sh
# Compiles the kernels of this folder to the .ptx files beside them, which the tests load. Large ones are packed with zstd.
# Usage: NVCC=/path/to/nvcc ./build.sh
set -eu
cd "$(dirname "$0")"
for source in *.cu; do
    # No test asks for lines, and comments are a third of the text.
    "${NVCC:-nvcc}" -ptx -arch=sm_90 "$source" -o - | grep -v '^[[:space:]]*//' | tr -s ' \t' ' ' > "${source%.cu}.ptx"
done
# Other shapes of the same: as a debugger wants them, without calls of the long functions.
for source in memory others; do
    "${NVCC:-nvcc}" -ptx -arch=sm_80 -G "$source.cu" -o - |
        grep -v '^[[:space:]]*//' | sed -e '/^[[:space:]]*\.section/,$d' -e 's|\(\.file[[:space:]]*[0-9]* \)".*/|\1"|' |
        tr -s ' \t' ' ' > "${source}_G.ptx"
done
find . -name '*.ptx' -size +8k -exec zstd -19 -q -f --rm {} +
