#!/usr/bin/env bash
# Runs each program on the GPU of this machine and on the virtual machine, and compares what they print and return.
# usage: compare.sh GRADER
set -u
grader=$(realpath "$1")
cd "$(dirname "$0")" || exit 3
bad=0
for source in *.cu; do
    line=$(head -n 1 "$source")
    args=()
    case $line in *" args:"*)
        text=${line#* args:}
        eval "args=(${text%% exit:*})" ;;
    esac
    for backend in gpu vm; do
        "$grader" run --backend "$backend" "$source" -- "${args[@]}" >"/tmp/$backend.out" 2>"/tmp/$backend.err"
        echo "exit code $?" >>"/tmp/$backend.out"
    done
    if cmp -s /tmp/gpu.out /tmp/vm.out; then
        echo "equal      $source"
    else
        bad=1
        echo "DIFFERENT  $source"
        diff /tmp/gpu.out /tmp/vm.out
        head -n 5 /tmp/gpu.err /tmp/vm.err
    fi
done
exit $bad
