"""Writes tables.txt: one line for each tested instruction: its result register, the type of its result, the instruction. The
other scripts read it; the tests read tables.txt.zst."""
import subprocess

o = []
seen = set()


def put(result, kind, text):
    line = f"{result} {kind} {text}"
    if line not in seen:
        seen.add(line)
        o.append(line)


R = {"s8": "r", "u8": "r", "s16": "rs", "u16": "rs", "b16": "rs", "s32": "r", "u32": "r", "b32": "r", "s64": "rd", "u64": "rd",
     "b64": "rd", "f16": "rs", "bf16": "rs", "f16x2": "r", "bf16x2": "r", "f32": "f", "f64": "fd", "u16x2": "r", "s16x2": "r"}


def kind(t):
    return t if "f" in t else "i"


def op(name, t, n, dest=None):
    """An instruction whose operands all have one type."""
    d = dest or t
    args = ",".join(f"%{R[t]}{i}" for i in range(1, n + 1))
    put(R[d] + "0", kind(d), f"{name}.{t} %{R[d]}0,{args};")


def setp(c, t, flags=""):
    r = R[t]
    put("p0", "i", f"setp.{c}{flags}.{t} %p0,%{r}1,%{r}2;")


for t in ("s16", "u16", "s32", "u32", "s64", "u64"):
    r = R[t]
    for n in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
        op(n, t, 2)
    if t[0] == "s":
        op("abs", t, 1)
        op("neg", t, 1)
    op("mad.lo", t, 3)
    op("sad", t, 3)
    put(r + "0", "i", f"shr.{t} %{r}0,%{r}1,%r2;")
    put(r + "0", "i", f"and.b32 %r2,%r2,127;shr.{t} %{r}0,%{r}1,%r2;")
    if "16" not in t:
        put(r + "0", "i", f"and.b32 %r2,%r2,255;and.b32 %r3,%r3,255;bfe.{t} %{r}0,%{r}1,%r2,%r3;")
        put(r + "0", "i", f"and.b32 %r2,%r2,63;and.b32 %r3,%r3,63;bfe.{t} %{r}0,%{r}1,%r2,%r3;")
        put("r0", "i", f"bfind.{t} %r0,%{r}1;")
        put("r0", "i", f"bfind.shiftamt.{t} %r0,%{r}1;")
        op("mad.hi", t, 3)
        for n, m in (("add", "addc"), ("sub", "subc")):
            put(r + "0", "i", f"{n}.cc.{t} %{r}0,%{r}1,%{r}2;{m}.{t} %{r}0,%{r}3,%{r}4;")
            put(r + "0", "i", f"{n}.cc.{t} %{r}0,%{r}1,%{r}2;{m}.cc.{t} %{r}5,%{r}3,%{r}4;{m}.{t} %{r}0,%{r}1,%{r}4;")
        for lohi in ("lo", "hi"):
            put(r + "0", "i", f"mad.{lohi}.cc.{t} %{r}0,%{r}1,%{r}2,%{r}3;madc.hi.{t} %{r}0,%{r}1,%{r}2,%{r}4;")
            put(r + "0", "i", f"mad.lo.cc.{t} %{r}5,%{r}1,%{r}2,%{r}3;madc.{lohi}.cc.{t} %{r}6,%{r}1,%{r}3,%{r}4;addc.{t} %{r}0,%{r}6,%{r}5;")
    for c in ("eq", "ne", "lt", "le", "gt", "ge"):
        setp(c, t)
    if t[0] == "u":
        for c in ("lo", "ls", "hi", "hs"):
            setp(c, t)
    for c in ("lt", "ge"):
        for d in ("u32", "s32", "f32"):
            put(R[d] + "0", kind(d), f"set.{c}.{d}.{t} %{R[d]}0,%{r}1,%{r}2;")
    put(r + "0", "i", f"selp.{t} %{r}0,%{r}1,%{r}2,%p3;")
    put(r + "0", "i", f"slct.{t}.s32 %{r}0,%{r}1,%{r}2,%r3;")
    for f in ("", ".ftz"):
        put(r + "0", "i", f"slct{f}.{t}.f32 %{r}0,%{r}1,%{r}2,%f3;")
for t in ("b16", "b32", "b64"):
    r = R[t]
    for n in ("and", "or", "xor"):
        op(n, t, 2)
    op("not", t, 1)
    op("cnot", t, 1)
    setp("eq", t)
    setp("ne", t)
    put(r + "0", "i", f"shl.{t} %{r}0,%{r}1,%r2;")
    put(r + "0", "i", f"and.b32 %r2,%r2,127;shl.{t} %{r}0,%{r}1,%r2;")
    put(r + "0", "i", f"shr.{t} %{r}0,%{r}1,%r2;")
    put(r + "0", "i", f"selp.{t} %{r}0,%{r}1,%{r}2,%p3;")
    put(r + "0", "i", f"slct.{t}.s32 %{r}0,%{r}1,%{r}2,%r3;")
    if t != "b16":
        put("r0", "i", f"popc.{t} %r0,%{r}1;")
        put("r0", "i", f"clz.{t} %r0,%{r}1;")
        op("brev", t, 1)
        for m in (255, 63):
            put(r + "0", "i", f"and.b32 %r3,%r3,{m};and.b32 %r4,%r4,{m};bfi.{t} %{r}0,%{r}1,%{r}2,%r3,%r4;")
for n in ("and", "or", "xor"):
    put("p0", "i", f"{n}.pred %p0,%p1,%p2;")
    for t in ("s32", "u16", "f32", "f64", "u64"):
        r = R[t]
        put("p0", "i", f"setp.lt.{n}.{t} %p0,%{r}1,%{r}2,%p3;")
        put("p0", "i", f"setp.ge.{n}.{t} %p0,%{r}1,%{r}2,!%p3;")
        put("p0", "i", f"setp.gt.{n}.{t} %p5|%p0,%{r}1,%{r}2,%p3;")
        put("r0", "i", f"set.gt.{n}.u32.{t} %r0,%{r}1,%{r}2,%p3;")
put("p0", "i", "not.pred %p0,%p1;")
for t in ("s32", "u32"):
    put("rd0", "i", f"mul.wide.{t} %rd0,%r1,%r2;")
    put("rd0", "i", f"mad.wide.{t} %rd0,%r1,%r2,%rd3;")
    for w in ("lo", "hi"):
        op(f"mul24.{w}", t, 2)
        op(f"mad24.{w}", t, 3)
    for u in ("s32", "u32"):
        put("r0", "i", f"dp4a.{t}.{u} %r0,%r1,%r2,%r3;")
        for w in ("lo", "hi"):
            put("r0", "i", f"dp2a.{w}.{t}.{u} %r0,%r1,%r2,%r3;")
    for m in ("clamp", "wrap"):
        put("r0", "i", f"szext.{m}.{t} %r0,%r1,%r2;")
    for n in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        put("r0", "i", f"{n}.{t}.{t}.{t} %r0,%r1,%r2;")
    for n in ("vadd4", "vsub4", "vabsdiff4", "vmin4", "vmax4", "vavrg4", "vabsdiff2", "vadd2"):
        put("r0", "i", f"{n}.{t}.{t}.{t} %r0,%r1,%r2,%r3;")
        if "absdiff" in n:
            put("r0", "i", f"{n}.{t}.{t}.{t}.add %r0,%r1,%r2,%r3;")
    for n in ("min", "max"):
        if t == "s32":
            op(f"{n}.relu", t, 2)
for t in ("s16", "u16"):
    put("r0", "i", f"mul.wide.{t} %r0,%rs1,%rs2;")
    put("r0", "i", f"mad.wide.{t} %r0,%rs1,%rs2,%r3;")
    for n in ("add", "min", "max"):
        op(n, t + "x2", 2)
op("min.relu", "s16x2", 2)
op("max.relu", "s16x2", 2)
op("add.sat", "s32", 2)
op("sub.sat", "s32", 2)
op("mad.hi.sat", "s32", 3)
op("mad24.hi.sat", "s32", 3)
for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
    put("r0", "i", f"prmt.b32{m} %r0,%r1,%r2,%r3;")
for d in "lr":
    for m in ("wrap", "clamp"):
        put("r0", "i", f"shf.{d}.{m}.b32 %r0,%r1,%r2,%r3;")
for lut in (0x96, 0xB2, 0xE8, 0x1, 0xFE, 0x2A, 0xD8, 0):
    put("r0", "i", f"lop3.b32 %r0,%r1,%r2,%r3,{lut};")
for n in ("and", "or"):
    put("p0", "i", f"lop3.{n}.b32 %r5|%p0,%r1,%r2,%r3,0x6A,%p4;")
for m in ("clamp", "wrap"):
    put("r0", "i", f"bmsk.{m}.b32 %r0,%r1,%r2;")
    put("r0", "i", f"and.b32 %r1,%r1,63;and.b32 %r2,%r2,63;bmsk.{m}.b32 %r0,%r1,%r2;")
put("r0", "i", "and.b32 %r2,%r2,31;shl.b32 %r3,%r3,26;shr.s32 %r3,%r3,26;fns.b32 %r0,%r1,%r2,%r3;")
for t in ("f32", "f64"):
    for m in ("rn", "rz", "rm", "rp"):
        for z in ("", ".ftz") if t == "f32" else ("",):
            for s in ("", ".sat") if t == "f32" else ("",):
                for n in ("add", "sub", "mul"):
                    op(f"{n}.{m}{z}{s}", t, 2)
                op(f"fma.{m}{z}{s}", t, 3)
            op(f"div.{m}{z}", t, 2)
            op(f"rcp.{m}{z}", t, 1)
            op(f"sqrt.{m}{z}", t, 1)
for t in ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2"):
    for z in ("", ".ftz") if t in ("f32", "f16", "f16x2") else ("",):
        for x in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
            for n in ("min", "max"):
                op(f"{n}{z}{x}", t, 2)
        op(f"neg{z}", t, 1)
        op(f"abs{z}", t, 1)
        for c in "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split():
            r = R[t]
            if "x2" in t:
                put("p0", "i", f"setp.{c}{z}.{t} %p0|%p5,%{r}1,%{r}2;")
                put("p0", "i", f"setp.{c}{z}.{t} %p5|%p0,%{r}1,%{r}2;")
                d = t
                put("r0", t, f"set.{c}{z}.{t}.{t} %r0,%{r}1,%{r}2;")
            else:
                setp(c, t, z)
                for d in ("u32", "f32") if t in ("f32", "f64") else ("u16", "u32", t):
                    put(R[d] + "0", kind(d), f"set.{c}{z}.{d}.{t} %{R[d]}0,%{r}1,%{r}2;")
for t in ("f32", "f64"):
    op("copysign", t, 2)
    put(R[t] + "0", t, f"selp.{t} %{R[t]}0,%{R[t]}1,%{R[t]}2,%p3;")
    put(R[t] + "0", t, f"slct.{t}.f32 %{R[t]}0,%{R[t]}1,%{R[t]}2,%f3;")
    put(R[t] + "0", t, f"slct.ftz.{t}.f32 %{R[t]}0,%{R[t]}1,%{R[t]}2,%f3;")
    for c in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        put("p0", "i", f"testp.{c}.{t} %p0,%{R[t]}1;")
for t in ("f16", "f16x2", "bf16", "bf16x2"):
    for m in ("", ".rn"):
        for z in ("", ".ftz") if t[0] == "f" else ("",):
            for s in ("", ".sat") if t[0] == "f" else ("",):
                for n in ("add", "sub", "mul"):
                    op(f"{n}{m}{z}{s}", t, 2)
                if m:
                    op(f"fma{m}{z}{s}", t, 3)
            if m:
                op(f"fma{m}{z}.relu", t, 3)
ints = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
for s in ints:
    for d in ints:
        for sat in ("", ".sat"):
            put(R[d] + "0", "i", f"cvt{sat}.{d}.{s} %{R[d]}0,%{R[s]}1;")
    for d in ("f16", "bf16", "f32", "f64"):
        for m in ("rn", "rz", "rm", "rp"):
            put(R[d] + "0", d, f"cvt.{m}.{d}.{s} %{R[d]}0,%{R[s]}1;")
for s in ("f32", "f64"):
    for m in ("rni", "rzi", "rmi", "rpi"):
        for z in ("", ".ftz") if s == "f32" else ("",):
            for d in ints:
                put(R[d] + "0", "i", f"cvt.{m}{z}.{d}.{s} %{R[d]}0,%{R[s]}1;")
            put(R[s] + "0", s, f"cvt.{m}{z}.{s}.{s} %{R[s]}0,%{R[s]}1;")
            put(R[s] + "0", s, f"cvt.{m}{z}.sat.{s}.{s} %{R[s]}0,%{R[s]}1;")
        put(R["s32"] + "0", "i", f"cvt.{m}.sat.s32.{s} %r0,%{R[s]}1;")
for m in ("rn", "rz", "rm", "rp"):
    for s in ("", ".sat"):
        for z in ("", ".ftz"):
            put("f0", "f32", f"cvt.{m}{z}{s}.f32.f64 %f0,%fd1;")
        put("rs0", "f16", f"cvt.{m}{s}.f16.f32 %rs0,%f1;")
        put("rs0", "f16", f"cvt.{m}{s}.f16.f64 %rs0,%fd1;")
    put("rs0", "bf16", f"cvt.{m}.bf16.f32 %rs0,%f1;")
    put("rs0", "bf16", f"cvt.{m}.bf16.f64 %rs0,%fd1;")
    for s in (".relu", ".satfinite", ".relu.satfinite", ".satfinite.relu", ""):
        put("rs0", "f16", f"cvt.{m}{s}.f16.f32 %rs0,%f1;")
        put("rs0", "bf16", f"cvt.{m}{s}.bf16.f32 %rs0,%f1;")
        put("r0", "f16x2", f"cvt.{m}{s}.f16x2.f32 %r0,%f1,%f2;")
        put("r0", "bf16x2", f"cvt.{m}{s}.bf16x2.f32 %r0,%f1,%f2;")
        put("r0", "f32", f"cvt.{m}{s}.tf32.f32 %r0,%f1;")
put("r0", "f32", "cvt.rna.tf32.f32 %r0,%f1;")
put("r0", "f32", "cvt.rna.satfinite.tf32.f32 %r0,%f1;")
for z in ("", ".ftz"):
    for s in ("", ".sat"):
        put("f0", "f32", f"cvt{z}{s}.f32.f32 %f0,%f1;")
        put("fd0", "f64", f"cvt{z}{s}.f64.f32 %fd0,%f1;")
put("fd0", "f64", "cvt.sat.f64.f64 %fd0,%fd1;")
for f in ("e4m3x2", "e5m2x2"):
    for x in ("", ".relu"):
        put("rs0", "i", f"cvt.rn.satfinite{x}.{f}.f32 %rs0,%f1,%f2;")
        put("rs0", "i", f"cvt.rn.satfinite{x}.{f}.f16x2 %rs0,%r1;")
        put("r0", "f16x2", f"cvt.rn{x}.f16x2.{f} %r0,%rs1;")
for d in ("s16", "u16"):
    put("r0", "i", f"cvt.pack.sat.{d}.s32 %r0,%r1,%r2;")
for d in ("s8", "u8", "s4", "u4", "s2", "u2"):
    put("r0", "i", f"cvt.pack.sat.{d}.s32.b32 %r0,%r1,%r2,%r3;")
put("rd0", "i", "mov.b64 %rd0,{%r1,%r2};")
put("rd0", "i", "mov.b64 %rd0,{%rs1,%rs2,%rs3,%rs4};")
put("r0", "i", "mov.b32 %r0,{%rs1,%rs2};")
put("r0", "i", "mov.b64 {%r5,%r0},%rd1;")
put("rs0", "i", "mov.b64 {%rs5,%rs6,%rs0,%rs7},%rd1;")
put("rs0", "i", "mov.b32 {%rs5,%rs0},%r1;")
for f in ("ex2.approx", "lg2.approx", "sin.approx", "cos.approx", "rsqrt.approx", "rcp.approx", "sqrt.approx"):
    for z in ("", ".ftz"):
        op(f + z, "f32", 1)
op("tanh.approx", "f32", 1)
for n in ("div.approx", "div.full"):
    for z in ("", ".ftz"):
        op(n + z, "f32", 2)
op("rcp.approx.ftz", "f64", 1)
op("rsqrt.approx", "f64", 1)
op("rsqrt.approx.ftz", "f64", 1)
# Warps: every lane takes part; then only those whose predicate holds.
for m in ("idx", "up", "down", "bfly"):
    for c in ("%r3", "0", "31", "0x1f00", "0x181f", "0x100f", "0x1c1f", "7"):
        for b in ("%r2", "1", "5", "16", "31"):
            put("r0", "i", f"shfl.sync.{m}.b32 %r0|%p5,%r1,{b},{c},-1;")
            put("p0", "i", f"shfl.sync.{m}.b32 %r5|%p0,%r1,{b},{c},-1;")
            put("p0", "i", f"vote.sync.ballot.b32 %r5,%p1,-1;and.pred %p0,%p1,%p1;@%p1 shfl.sync.{m}.b32 %r6|%p0,%r1,{b},{c},%r5;")
for t in ("all", "any", "uni"):
    put("p0", "i", f"vote.sync.{t}.pred %p0,%p1,-1;")
    put("p0", "i", f"vote.sync.{t}.pred %p0,!%p1,-1;")
    put("p0", "i", f"vote.sync.ballot.b32 %r5,%p1,-1;and.pred %p0,%p1,%p1;@%p1 vote.sync.{t}.pred %p0,%p2,%r5;")
put("r0", "i", "vote.sync.ballot.b32 %r0,%p1,-1;")
put("r0", "i", "vote.sync.ballot.b32 %r5,%p1,-1;@%p1 vote.sync.ballot.b32 %r0,%p2,%r5;")
put("r0", "i", "@%p1 activemask.b32 %r0;")
for t in ("b32", "b64"):
    r = R[t]
    mask = "and.b32 %r1,%r1,3;and.b64 %rd1,%rd1,3;"
    put("r0", "i", f"match.any.sync.{t} %r0,%{r}1,-1;")
    put("r0", "i", f"{mask}match.any.sync.{t} %r0,%{r}1,-1;")
    put("r0", "i", f"{mask}match.all.sync.{t} %r0|%p5,%{r}1,-1;")
    put("r0", "i", f"{mask}shr.u32 %r1,%r1,2;shr.u64 %rd1,%rd1,2;match.all.sync.{t} %r0|%p5,%{r}1,-1;")
    put("r0", "i", f"{mask}vote.sync.ballot.b32 %r5,%p2,-1;@%p2 match.any.sync.{t} %r0,%{r}1,%r5;")
for t, names in (("u32", ("add", "min", "max")), ("s32", ("add", "min", "max")), ("b32", ("and", "or", "xor"))):
    for n in names:
        put("r0", "i", f"redux.sync.{n}.{t} %r0,%r1,-1;")
        put("r0", "i", f"vote.sync.ballot.b32 %r5,%p2,-1;@%p2 redux.sync.{n}.{t} %r0,%r1,%r5;")
for n in ("and", "or"):
    put("p0", "i", f"bar.red.{n}.pred %p0,0,%p1;")
put("r0", "i", "bar.red.popc.u32 %r0,0,%p1;")
# Atomics on a word of the thread's own: the old value, then the new one.
for space, a in (("global", "%rd24"), ("shared", "%r24")):
    for n, ts in (("add", ("u32", "s32", "u64", "f32", "f64", "f16x2", "bf16x2", "f16", "bf16")), ("min", ("s32", "u32", "s64", "u64")),
                  ("max", ("s32", "u32", "s64", "u64")), ("and", ("b32", "b64")), ("or", ("b32", "b64")), ("xor", ("b32", "b64")),
                  ("exch", ("b32", "b64")), ("cas", ("b16", "b32", "b64")), ("inc", ("u32",)), ("dec", ("u32",))):
        for t in ts:
            r, w = R[t], {"rs": "b16", "r": "b32", "f": "f32", "rd": "b64", "fd": "f64"}[R[t]]
            name = f"{n}.noftz" if t in ("f16", "bf16", "f16x2", "bf16x2") else n
            args = f"%{r}2,%{r}3" if n == "cas" else f"%{r}2"
            init = f"st.{space}.{w} [{a}],%{r}1;"
            put(r + "0", kind(t), f"{init}atom.{space}.{name}.{t} %{r}0,[{a}],{args};")
            put(r + "0", kind(t), f"{init}atom.{space}.{name}.{t} %{r}5,[{a}],{args};ld.{space}.{w} %{r}0,[{a}];")
            if n == "cas":
                put(r + "0", kind(t), f"{init}atom.{space}.cas.{t} %{r}5,[{a}],%{r}1,%{r}3;ld.{space}.{w} %{r}0,[{a}];")
            elif n != "exch":
                put(r + "0", kind(t), f"{init}red.{space}.{name}.{t} [{a}],{args};ld.{space}.{w} %{r}0,[{a}];")
# All 2^16 operands.
e = len(o)
for t in ("f16", "bf16"):
    for z in ("", ".ftz") if t == "f16" else ("",):
        put("rs0", t, f"neg{z}.{t} %rs0,%rs1; ")
        put("rs0", t, f"abs{z}.{t} %rs0,%rs1; ")
    put("rs0", t, f"ex2.approx{'.ftz' if t == 'bf16' else ''}.{t} %rs0,%rs1; ")
    put("rs0", t, f"tanh.approx.{t} %rs0,%rs1; ")
    for d in ("f32", "f64"):
        for s in ("", ".sat", ".ftz"):
            put(R[d] + "0", d, f"cvt{s}.{d}.{t} %{R[d]}0,%rs1; ")
    for m in ("rni", "rzi", "rmi", "rpi"):
        for d in ints:
            put(R[d] + "0", "i", f"cvt.{m}.{d}.{t} %{R[d]}0,%rs1; ")
        put("rs0", t, f"cvt.{m}.{t}.{t} %rs0,%rs1; ")
    for m in ("rn", "rz", "rm", "rp"):
        for s in ("s16", "u16", "s8", "u8"):
            put("rs0", t, f"cvt.{m}.{t}.{s} %rs0,%{R[s]}1; ")
        u = "bf16" if t == "f16" else "f16"
        put("rs0", u, f"cvt.{m}.{u}.{t} %rs0,%rs1; ")
    put("rs0", t, f"cvt.sat.{t}.{t} %rs0,%rs1; ")
    for s in ("", ".sat", ".ftz"):
        for n in ("add", "mul"):
            put("rs0", t, f"{n}.rn{s}.{t} %rs0,%rs1,%rs2; ")
        put("rs0", t, f"fma.rn{s}.{t} %rs0,%rs1,%rs2,%rs3; ")
    for f in ("e4m3x2", "e5m2x2"):
        put("r0", "f16x2", f"cvt.rn.f16x2.{f} %r0,%rs1; ")
for n in ("clz", "popc", "brev"):
    put("r0", "i", f"{n}.b32 %r0,%r1; ")
# Scalar video instructions, by their types, selectors and second operations.
signs = ("s32", "u32")
for n in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
    for t in (f"{n}.{d}.{a}.{b}" for d in signs for a in signs for b in signs):
        put("r0", "i", f"{t} %r0,%r1.h0,%r2.b1;")
        put("r0", "i", f"{t}.sat %r0,%r1,%r2;")
        for how in (".sat.add", ".max", ".min", ".sat.min"):
            put("r0", "i", f"{t}{how} %r0,%r1,%r2,%r3;")
        put("r0", "i", f"{t}.sat %r0.b1,%r1.b3,%r2.b0,%r3;")
        put("r0", "i", f"{t}.sat %r0.h0,%r1.h1,%r2.h0,%r3;")
        put("r0", "i", f"{t} %r0.h1,%r1,%r2,%r3;")
    for t in signs:
        put("r0", "i", f"{n}.{t}.{t}.{t}.sat %r0.h1,%r1.h0,%r2.h0,%r3;")
for n in ("vshl", "vshr"):
    for t, m in ((f"{n}.{d}.{a}.u32", m) for d in signs for a in signs for m in ("clamp", "wrap")):
        put("r0", "i", f"{t}.{m} %r0,%r1.h1,%r2.b2;")
        put("r0", "i", f"{t}.sat.{m} %r0,%r1,%r2;")
        for how in (f".{m}.add", f".{m}.max", f".{m}.min", f".sat.{m}.max"):
            put("r0", "i", f"{t}{how} %r0,%r1,%r2.b0,%r3;")
        put("r0", "i", f"{t}.sat.{m} %r0.b2,%r1,%r2.b0,%r3;")
        put("r0", "i", f"{t}.sat.{m} %r0.h1,%r1,%r2.b0,%r3;")
        put("r0", "i", f"{t}.{m} %r0.h0,%r1,%r2.b0,%r3;")
for a, b in ((a, b) for a in signs for b in signs):
    for d in signs:
        t = f"vmad.{d}.{a}.{b}"
        for how in ("", ".sat", ".shr7", ".shr15", ".sat.shr7", ".sat.shr15", ".po", ".po.sat", ".po.shr7", ".po.sat.shr15"):
            put("r0", "i", f"{t}{how} %r0,%r1,%r2,%r3;")
        put("r0", "i", f"{t}.sat %r0,%r1.h1,%r2.b3,%r3;")
        put("r0", "i", f"{t}.shr7 %r0,%r1.b2,%r2.h0,%r3;")
for a, b in ((a, b) for a in signs for b in signs):
    for c in ("eq", "ne", "lt", "le", "gt", "ge"):
        put("r0", "i", f"vset.{a}.{b}.{c} %r0,%r1.h0,%r2.h1;")
    for how in ("lt.add", "gt.min", "ne.max"):
        put("r0", "i", f"vset.{a}.{b}.{how} %r0,%r1,%r2,%r3;")
    put("r0", "i", f"vset.{a}.{b}.ge %r0.h1,%r1.b0,%r2.b1,%r3;")
    put("r0", "i", f"vset.{a}.{b}.le %r0.b3,%r1.h0,%r2.h1,%r3;")
# The blank at the end marks the exhaustive ones.
open("tables.txt", "w").write("\n".join(o) + "\n")
subprocess.run(["zstd", "-19", "-q", "-f", "tables.txt"], check=True)
print(e, len(o) - e)
