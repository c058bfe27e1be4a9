"""Finds modules of a crate that use each other in a circle, on any level below the same module: python3 .ci/circles.py [CRATE ...]"""

import collections
import json
import re
import subprocess
import sys

MODULES_ALONE = ["--no-externs", "--no-sysroot", "--no-fns", "--no-traits", "--no-types"]


def crates():
    """The workspace's crates that have a library."""
    metadata = subprocess.run(["cargo", "metadata", "--no-deps", "--format-version", "1"], check=True, capture_output=True, text=True)
    packages = json.loads(metadata.stdout)["packages"]
    return [package["name"] for package in packages if any("lib" in target["kind"] for target in package["targets"])]


def siblings(crate):
    """For each module the modules below it, each with those beside it that it or what lies below it uses."""
    command = ["cargo", "modules", "dependencies", "--lib", "-p", crate, *MODULES_ALONE]
    drawing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    uses = collections.defaultdict(lambda: collections.defaultdict(set))
    for one, other in re.findall(r'"(.+?)" -> "(.+?)" \[label="uses"', drawing):
        one, other = one.split("::"), other.split("::")
        level = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), None)
        if level is not None:
            uses["::".join(one[:level])][one[level]].add(other[level])
    return uses


def reached(uses, start):
    found, left = set(), [start]
    while left:
        new = uses.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def main():
    circles = set()
    for crate in sys.argv[1:] or crates():
        for parent, uses in siblings(crate).items():
            reach = {module: reached(uses, module) for module in uses}
            for module, others in reach.items():
                if module in others:
                    circle = sorted(other for other in others if module in reach.get(other, ()))
                    circles.add(f"{parent}: {', '.join(circle)}")
    print("\n".join(sorted(circles)) or "no circles")
    sys.exit(bool(circles))


if __name__ == "__main__":
    main()
