#!/usr/bin/env python3
"""How many entries of public collections of CUDA kernels the virtual machine runs.

Takes the PTX out of the libraries of Python packages, asks `grader ptx check` about each module, and prints a table in
Markdown. Nothing of the packages is kept. See README.md.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What the machine refuses on purpose, by what only these kernels contain. The first that fits names the kernel.
ON_PURPOSE = [
    ("tcgen05", r"\btcgen05\."),
    ("wgmma", r"\bwgmma\."),
    ("TMA", r"\bcp\.async\.bulk|\bcp\.reduce\.async|\btensormap\.|\bprefetch\.tensormap"),
    (
        "clusters",
        r"%cluster|%ncluster|%is_explicit_cluster|shared::cluster|\bbarrier\.cluster|\bmapa\.|\bgetctarank\."
        r"|\b(?:st|red)\.async|\bclusterlaunchcontrol\.|\bmultimem\.",
    ),
]
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
ENTRY = re.compile(r"^[^\n]*\.entry\b", re.MULTILINE)


def extract(cuobjdump, package, folder):
    """The files of PTX of a package, each text once."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder / "wheel", package], check=True
    )
    for wheel in (folder / "wheel").iterdir():
        shutil.unpack_archive(wheel, folder / "unpacked", "zip")
    texts = folder / "ptx"
    texts.mkdir()
    found = {}
    for file in sorted((folder / "unpacked").rglob("*")):
        if not file.is_file() or file.is_symlink():
            continue
        if file.suffix == ".ptx":
            shutil.copy(file, texts)
        elif file.read_bytes()[:4] == b"\x7fELF" or file.suffix == ".fatbin":
            subprocess.run([cuobjdump, "-xptx", "all", file], cwd=texts, capture_output=True, check=False)
        for ptx in texts.iterdir():
            digest = hashlib.sha256(ptx.read_bytes()).hexdigest()
            if digest not in found:
                found[digest] = ptx.rename(folder / f"{digest}.ptx")
            else:
                ptx.unlink()
    shutil.rmtree(folder / "wheel")
    shutil.rmtree(folder / "unpacked")
    return list(found.values())


def reason(why):
    """The refusal without what differs from kernel to kernel."""
    why = re.sub(r"^.*?not supported: ", "", why)
    why = re.sub(r"\b(sm_\w+)(?=(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", why)
    instruction = re.match(r"instruction `(\w+(?:\.\w+)?)[^`]*`: (.*)", why)
    return f"`{instruction[1]}`: {instruction[2]}" if instruction else why


def kind(text, why):
    """Whether an entry is refused on purpose, or because something is missing."""
    for name, pattern in ON_PURPOSE:
        if re.search(pattern, text):
            return "on purpose", name
    return "missing", reason(why)


def check(grader, file, tally):
    """Adds the entries of one module."""
    text = COMMENTS.sub(lambda comment: "\n" * comment[0].count("\n"), file.read_text(errors="replace"))
    starts = [text.count("\n", 0, match.start()) + 1 for match in ENTRY.finditer(text)]
    if not starts:
        return
    lines = text.split("\n")
    tally["modules"] += 1
    tally["bytes"] += len(text)
    for key, found in (("target", r"^\s*\.target\s+(\w+)"), ("version", r"^\s*\.version\s+([\d.]+)")):
        tally[key].update(re.findall(found, text, re.MULTILINE)[:1])
    done = subprocess.run([grader, "ptx", "check", "--format", "json", file], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        tally["entries"] += len(starts)
        tally["refused"]["missing", "module not read: " + done.stderr.split("\n")[0].split(": ", 2)[-1]] += len(starts)
        return
    for entry in json.loads(done.stdout)["files"][0]["entries"]:
        tally["entries"] += 1
        if entry["runs"]:
            tally["runs"] += 1
            continue
        line = int(re.match(r"line (\d+)", entry["why_not"])[1])
        start = max((start for start in starts if start <= line), default=1)
        end = min((start for start in starts if start > line), default=len(lines))
        tally["refused"][kind("\n".join(lines[start - 1 : end]), entry["why_not"])] += 1


def share(part, whole):
    # Cut off, not rounded: 100 % means all.
    return f"{int(part * 10000 / whole) / 100:.2f} %" if whole else "-"


def row(name, tally):
    kinds = collections.Counter()
    for (which, _), count in tally["refused"].items():
        kinds[which] += count
    others = tally["entries"] - kinds["on purpose"]
    targets = sorted(tally["target"], key=lambda target: int(re.search(r"\d+", target)[0]))
    targets = ", ".join(f"`{target}`" for target in targets)
    versions = sorted(tally["version"], key=lambda version: [int(part) for part in version.split(".")])
    cells = [name, targets, f"{versions[0]} to {versions[-1]}" if len(versions) > 1 else versions[0]]
    numbers = [tally["modules"], tally["entries"], tally["runs"], kinds["on purpose"], kinds["missing"]]
    cells += [f"{number:,}" for number in numbers]
    cells += [share(tally["runs"], tally["entries"]), share(tally["runs"], others)]
    return "| " + " | ".join(cells) + " |"


def new_tally():
    counts = {"modules": 0, "bytes": 0, "entries": 0, "runs": 0}
    return counts | {"refused": collections.Counter(), "target": set(), "version": set()}


def main():
    here = pathlib.Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grader", required=True, type=pathlib.Path, help="the program `grader`")
    parser.add_argument("--cuobjdump", default="cuobjdump", help="of the package nvidia-cuda-cuobjdump")
    parser.add_argument("--folder", type=pathlib.Path, help="further collection: a folder with .ptx files, by its name")
    parser.add_argument("packages", nargs="*", help="NAME==VERSION; those of packages.txt if none is given")
    arguments = parser.parse_args()
    grader, cuobjdump = arguments.grader.resolve(), shutil.which(arguments.cuobjdump)
    if cuobjdump is None:
        parser.error("no cuobjdump: pip install nvidia-cuda-cuobjdump, and say where its program lies")
    cuobjdump = pathlib.Path(cuobjdump).resolve()
    listed = [line for line in (here / "packages.txt").read_text().splitlines() if not line.startswith("#")]
    total = new_tally()
    head = "collection|target|PTX|modules|entries|run|refused on purpose|missing|share|without those on purpose"
    print("|", head.replace("|", " | "), "|")
    print("|" + "---|" * (head.count("|") + 1), flush=True)

    def count(name, files):
        tally = new_tally()
        for file in files:
            check(grader, file, tally)
        if tally["entries"]:
            print(row(name, tally), flush=True)
        for key, value in tally.items():
            total[key] = total[key] | value if isinstance(value, set) else total[key] + value

    if arguments.folder:
        for folder in sorted(path for path in arguments.folder.iterdir() if path.is_dir()):
            count(folder.name, sorted(folder.rglob("*.ptx")))
    for package in arguments.packages or ([] if arguments.folder else listed):
        with tempfile.TemporaryDirectory() as folder:
            count(package.replace("==", " "), extract(cuobjdump, package, pathlib.Path(folder)))
    print(row("all", total))
    print("\n| refused | why | entries |\n|---|---|---|")
    for (which, why), number in sorted(total["refused"].items(), key=lambda item: (item[0][0] != "on purpose", -item[1])):
        print(f"| {which} | {why} | {number:,} |")
    print(f"\n{total['bytes'] / 1e6:,.0f} MB of PTX", file=sys.stderr)


if __name__ == "__main__":
    main()
