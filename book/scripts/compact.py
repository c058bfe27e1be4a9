"""Writes the drawings of figures with fewer characters; they look the same.

    python3 book/scripts/compact.py book/src/figures/*.svg

Shapes of one style become one path, and texts of one style one text, as far as what lies on what stays as it is. Rectangles,
lines and polygons become paths, an edge that two cells share is drawn once, an empty element ends in its own tag, and texts without
letters go.
"""

import pathlib
import re
import sys
import unicodedata

# Outlines in the colour of the text: in which order they are drawn makes no difference.
OUTLINES = {"cell", "cell pad", "wire", "wire pad", "frame"}
# Those of which neighbours share their edges.
CELLS = {"cell", "cell pad"}
EDGE = 1.3  # how far a stroke may reach beyond the shape, in pixels
LETTER = 10, 13  # no letter is wider or higher, in pixels
LINE = 45  # the characters of an element of its own

NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"


def short(number):
    return f"{round(number, 3):g}"


def ends(d):
    """All points of a path, and the one where it ends."""
    points, x, y, start = [], 0, 0, (0, 0)
    for letter, numbers in re.findall(rf"([A-Za-z])((?:[\s,]*{NUMBER})*)", d):
        numbers = list(map(float, re.findall(NUMBER, numbers)))
        relative = letter.islower()
        letter = letter.upper()
        if letter == "Z":
            x, y = start
        step = 1 if letter in "HV" else 2
        for place in range(0, len(numbers), step):
            base = (x, y) if relative else (0, 0)
            if letter == "H":
                x = base[0] + numbers[place]
            elif letter == "V":
                y = base[1] + numbers[place]
            elif letter in "ML":
                x, y = base[0] + numbers[place], base[1] + numbers[place + 1]
            else:
                assert letter == "C" and not relative, d
                x, y = numbers[place:place + 2]
            points.append((x, y))
            if letter == "M" and place == 0:
                start = x, y
    return points, (x, y)


def around(points, margin_x, margin_y):
    xs, ys = zip(*points)
    return min(xs) - margin_x, min(ys) - margin_y, max(xs) + margin_x, max(ys) + margin_y


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


class Part:
    """Something drawn: a path, the letters of a text from one place on, or what stays as it is."""

    def __init__(self, kind, style, content, box):
        self.kind, self.style, self.content, self.box = kind, style, content, box

    def may_change_places(self, other):
        if not overlap(self.box, other.box):
            return True
        return all(part.kind == "text" or part.style in OUTLINES for part in (self, other))

    def may_join(self, other):
        """Whether the two can be one element. Fills are see-through: shapes of one path would show what they overlap."""
        if (self.kind, self.style) != (other.kind, other.style) or self.kind == "other":
            return False
        return self.kind == "text" or self.style in CELLS or not overlap(self.box, other.box)


def style_of(attributes):
    """Attributes that say how a thing looks, as those of a tag; the class alone by its name."""
    if set(attributes) == {"class"}:
        return attributes["class"].strip()
    return "".join(f' {name}="{value}"' for name, value in attributes.items())


def tag(name, style, rest):
    looks = style if style.startswith(" ") or not style else f' class="{style}"'
    return f"<{name}{looks}{rest}"


def outline(name, attributes):
    """What is drawn as the letters of a path, or None. Takes the place out of the attributes."""
    take = attributes.pop
    if name == "path":
        return take("d")
    if name == "rect" and not {"rx", "ry"} & set(attributes):
        x, y, width, height = (take(key, "0") for key in ("x", "y", "width", "height"))
        return f"M{x} {y}h{width}v{height}h-{width}z"
    if name == "line":
        x, y, to_x, to_y = (take(key) for key in ("x1", "y1", "x2", "y2"))
        return f"M{x} {y}L{to_x} {to_y}"
    if name == "polygon":
        first, *others = re.findall(rf"({NUMBER})[\s,]+({NUMBER})", take("points"))
        return f"M{' '.join(first)}" + "".join(f"L{x} {y}" for x, y in others) + "z"
    return None


def texts(attributes, words):
    """The pieces of a text: each begins at a place of its own."""
    x, y = attributes.pop("x", None), attributes.pop("y", None)
    style = style_of(attributes)
    for inner, letters in re.findall(r"(?:<tspan([^>]*)>)?([^<]+)(?:</tspan>)?", words):
        own = dict(re.findall(r'([\w-]+)="([^"]*)"', inner))
        y = own.get("y", y)
        xs, ys = ([short(float(place)) for place in places.split()] for places in (own.get("x", x), y))
        pieces = [letters] if len(xs) == len(ys) == 1 else list(letters)
        for i, piece in enumerate(pieces):
            place = xs[min(i, len(xs) - 1)], ys[min(i, len(ys) - 1)]
            yield Part("text", style, (*place, piece), around([tuple(map(float, place))], LETTER[0] * len(piece), LETTER[1]))


def parts(drawing):
    for name, attributes, inner in re.findall(r"<(\w+)((?:\s+[\w-]+=\"[^\"]*\")*)\s*(?:/>|>(.*?)</\1>)", drawing, re.S):
        looks = dict(re.findall(r'([\w-]+)="([^"]*)"', attributes))
        if name == "text":
            yield from texts(looks, inner.strip("\n\t "))
            continue
        place = [float(looks[key]) for key in ("cx", "cy", "r")] if name == "circle" else None
        d = None if inner.strip() else outline(name, looks)
        if d:
            yield Part("path", style_of(looks), d, around(ends(d)[0], EDGE, EDGE))
        else:
            assert place, f"{name} is not known"
            yield Part("other", "", f"<{name}{attributes.rstrip()}/>", around([place[:2]], place[2] + EDGE, place[2] + EDGE))


def steps(line, points):
    """The straight lines of a piece from point to point, each so far from the last, where that is shorter."""
    if not re.fullmatch(rf"(?:\s*L\s*{NUMBER}[\s,]*{NUMBER})+", line):
        return line
    pairs = zip(points, points[1:])
    relative = "l" + " ".join(f"{short(to_x - x)} {short(to_y - y)}" for (x, y), (to_x, to_y) in pairs)
    relative = relative.replace(" -", "-").replace(" 0.", " .").replace("-0.", "-.").replace("l0.", "l.")
    return min(line, relative, key=len)


def joined(paths):
    """Paths as one: each line of them begins where it does, or so far from where the last ended, whichever is shorter."""
    out, end = "", None
    for piece in absolute(paths):
        (x, y), line = ends(piece)[0][0], steps(re.sub(rf"^M{NUMBER} {NUMBER}", "", piece), ends(piece)[0])
        near = f"m{short(x - end[0])} {short(y - end[1])}" if end else piece
        out += min(f"M{short(x)} {short(y)}", near, key=len) + re.sub(r"(\d)\.0+(?!\d)", r"\1", line)
        end = ends(piece)[1]
    return out


def edges(d):
    """The lines of a path along the axes, as (is it upright, where, from, to), and the rest of the path; all of it if lines are bent."""
    lines, rest = [], []
    for piece in re.findall(r"[Mm][^Mm]*", d):
        points = ends(piece)[0]
        if "z" in piece.lower():
            points = [*points, points[0]]
        pairs = list(zip(points, points[1:]))
        if "C" in piece or any(x != to_x and y != to_y for (x, y), (to_x, to_y) in pairs):
            rest.append(piece)
            continue
        for (x, y), (to_x, to_y) in pairs:
            lines.append((True, x, *sorted((y, to_y))) if x == to_x else (False, y, *sorted((x, to_x))))
    return lines, rest


def drawn_once(paths):
    """The paths of cells, with edges that lie on or behind each other as one line."""
    lines, out = [], []
    for d in absolute(paths):
        own, rest = edges(d)
        lines += own
        out += rest
    merged = []
    for upright, place, start, end in sorted(lines):
        if merged and merged[-1][:2] == [upright, place] and start <= merged[-1][3]:
            merged[-1][3] = max(merged[-1][3], end)
        else:
            merged.append([upright, place, start, end])
    for upright, place, start, end in merged:
        out.append(f"M{place} {start}v{short(end - start)}" if upright else f"M{start} {place}h{short(end - start)}")
    return out


def absolute(paths):
    """The lines of paths, each from its own place."""
    for d in paths:
        here = (0, 0)
        for letter, x, y, line in re.findall(rf"([Mm])\s*({NUMBER})[\s,]*({NUMBER})([^Mm]*)", d):
            start = float(x) + here[0] * (letter == "m"), float(y) + here[1] * (letter == "m")
            piece = f"M{short(start[0])} {short(start[1])}{line}"
            here = ends(piece)[1]
            yield piece


def is_letter(words):
    return len(words) == 1 and not unicodedata.combining(words) and words < "\ud800" and words != " "


def rows(letters):
    """Letters by the lines that they stand on; short lines are one list, with a height for each letter."""
    lines = {}
    for x, y, letter in letters:
        lines.setdefault(y, []).append((float(x), x, y, letter))
    short_lines = []
    for y, line in lines.items():
        if len(line) * len(f" {y}") > LINE:
            yield sorted(line)
        else:
            short_lines += sorted(line)
    if short_lines:
        yield short_lines


def spread(letters):
    """The places of letters, as a list of each coordinate, and the letters."""
    xs, ys, words = zip(*(letter[1:] for letter in letters))
    y = ys[0] if len(set(ys)) == 1 else " ".join(ys)
    return f' x="{" ".join(xs)}" y="{y}">{"".join(words)}</text>'


def spans(words):
    """Texts line by line; one without a height stands on the line of the one before it."""
    height = None
    for x, y, text in sorted(words, key=lambda text: (float(text[1]), float(text[0]))):
        yield f'<tspan x="{x}"' + (f' y="{y}"' if y != height else "") + f">{text}</tspan>"
        height = y


def written(group):
    kind, style = group[0].kind, group[0].style
    contents = [part.content for part in group]
    if kind == "other":
        return contents[0]
    if kind == "path":
        contents = drawn_once(contents) if style in CELLS else contents
        return tag("path", style, f' d="{joined(contents)}"/>')
    lines = [tag("text", style, spread(line)) for line in rows([text for text in contents if is_letter(text[2])])]
    longer = [text for text in contents if not is_letter(text[2])]
    if len(longer) == 1:
        x, y, words = longer[0]
        lines.append(tag("text", style, f' x="{x}" y="{y}">{words}</text>'))
    elif longer:
        lines.append(tag("text", style, f">{''.join(spans(longer))}</text>"))
    return "\n".join(lines)


def compact(drawing):
    head, drawing, tail = re.fullmatch(r"(<svg[^>]*>)(.*)(</svg>\s*)", drawing, re.S).groups()
    groups, placed = [], []
    for part in parts(drawing):
        # It must come behind all that it may not change places with.
        after = max((group for other, group in placed if not part.may_change_places(other)), default=-1)
        fitting = (i for i in range(after + 1, len(groups)) if all(part.may_join(other) for other in groups[i]))
        place = next(fitting, len(groups))
        if place == len(groups):
            groups.append([])
        groups[place].append(part)
        placed.append((part, place))
    return "\n".join([head, *map(written, groups), tail.rstrip() + "\n"])


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        path.write_text(compact(path.read_text()))
