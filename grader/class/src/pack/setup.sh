#!/usr/bin/env bash
# Runs once, when the image of the autograder is built.
set -euo pipefail
root=${AUTOGRADER:-/autograder}
if command -v apt-get >/dev/null && ! { command -v g++ && python3 -m venv --help; } >/dev/null 2>&1; then
    apt-get update && apt-get install -y --no-install-recommends g++ python3 python3-pip python3-venv
fi
cd "$root/source"
chmod +x grader run_autograder
# Installs NVIDIA's compiler where nvcc is missing, so that no submission waits for it. A stub passes no test.
stub=$(find workbook/puzzles -name '*.cu' | sort | head -n 1)
number=$(basename "$stub" | sed 's/_.*//; s/^0*//')
GRADER_CACHE="$root/cache" ./grader --workbook workbook puzzle "$number" --backend vm || [ $? = 1 ]
