# What the build.sh of the folders beside it have in common: they change the PTX of nvcc and pack it.

# Debug strings and the names of inlined functions are of no use here, folders of the machine do not belong into the repository, and
# comments and white space are a part of the size alone.
strip() {
    sed -i -e 's|\(\.file[[:space:]]*[0-9]* \)".*/|\1"|' -e 's|, function_name [^,]*||' \
        -e '/^[[:space:]]*\.section/,$d' "$@"
    sed -i -e 's|[[:space:]]*//.*$||' -e 's/^[[:space:]]*//' -e 's/[[:space:]][[:space:]]*/ /g' -e '/^$/d' "$@"
}

# For kernels of which no test asks for lines.
without_lines() {
    sed -i -e '/^\.loc /d' -e '/^\$L__func[_a-z0-9]*:$/d' "$@"
}

# All .ptx files of this folder go into ptx.zst, with those of the other folders.
pack() {
    python3 ../ptx.py pack "$(basename "$PWD")"
    rm -- *.ptx
}
