#!/usr/bin/env python3
"""Makes a class from what the workbook knows of a puzzle: its wrong kernels, and its solution with small edits.

    make_class.py WORKBOOK NUMBER STUDENTS FOLDER [FIRST [GROUP]]
        writes FOLDER/submissions, class.toml and expected.csv; the students have numbers from FIRST (0), and other numbers give other
        files. With GROUP, the students hand in what the first GROUP of them do, in turn.
    make_class.py --check FOLDER GRADES
        compares GRADES/class.csv with FOLDER/expected.csv
"""

import csv
import re
import sys
import tomllib
from pathlib import Path

# Of every ten students, this many hand in a correct kernel, and this many exactly what the student before them did.
CORRECT, COPIES = 4, 1


def kernels(workbook: Path, number: int):
    """The stem of the puzzle, its solution and its wrong kernels."""
    stub = next((workbook / "puzzles").glob(f"{number:02}_*.toml"))
    solution = (workbook / "solutions" / f"{stub.stem}.cu").read_text()
    known = tomllib.loads((workbook / "solutions" / f"{stub.stem}.toml").read_text())
    wrong = []
    for kernel in known["wrong"]:
        text = solution
        own = [kernel] if "from" in kernel else []
        for replace in own + kernel.get("replace", []):
            text = text.replace(replace["from"], replace["to"])
        wrong.append(text)
    return stub.stem, solution, wrong


def edited(text: str, student: int) -> str:
    """The same kernel in other words: an other name of a variable, a comment, other blank lines."""
    text = re.sub(r"\bsum\b", f"total_{student}", text)
    return f"// Student {student}.\n" + text.replace("\n\n", "\n\n" * (1 + student % 3))


def make(workbook: Path, number: int, students: int, folder: Path, first: int, group: int):
    stem, solution, wrong = kernels(workbook, number)
    rows, made = [("student", "passes")], []
    for student in range(first, first + students):
        name, turn = f"student{student:04}", student % 10
        before = made[-1] if made else None
        if len(made) >= group:
            text, passes = made[(student - first) % group]
        elif turn >= 10 - COPIES and before:
            text, passes = before
        elif turn < CORRECT:
            text, passes = edited(solution, student), 1
        else:
            text, passes = edited(wrong[student % len(wrong)], student), 0
        made.append((text, passes))
        target = folder / "submissions" / name
        target.mkdir(parents=True)
        (target / f"{stem}.cu").write_text(text)
        rows.append((name, passes))
    with open(folder / "expected.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    secret = "not a secret, but the same at each run"
    (folder / "class.toml").write_text(
        f'title = "A class of {students}"\nsecret = "{secret}"\n'
        f"[[puzzle]]\nnumber = {number}\npoints = 10\n"
    )


def check(folder: Path, grades: Path) -> int:
    with open(folder / "expected.csv", newline="") as file:
        expected = {row["student"]: row["passes"] == "1" for row in csv.DictReader(file)}
    with open(grades / "class.csv", newline="") as file:
        got = {row["student"]: next(v for k, v in row.items() if k.endswith("_status")) for row in csv.DictReader(file)}
    bad = [name for name, passes in expected.items() if got.get(name) != ("passed" if passes else "failed")]
    for name in bad:
        print(f"{name}: expected {'passed' if expected[name] else 'failed'}, got {got.get(name)}")
    print(f"{len(expected) - len(bad)} of {len(expected)} verdicts as expected")
    return 1 if bad or len(got) != len(expected) else 0


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        sys.exit(check(Path(sys.argv[2]), Path(sys.argv[3])))
    start = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    most = int(sys.argv[6]) if len(sys.argv) > 6 else int(sys.argv[3])
    make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), start, most)
