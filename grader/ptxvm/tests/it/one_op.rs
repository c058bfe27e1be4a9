//! Single instructions at the edges of their range, through parser, lowering and machine.

use crate::support::Device;

/// Runs `d = op a, b ...` for each row of source bits, one row for each lane. `file` and `width` tell the registers.
fn run(instruction: &str, rows: &[Vec<u64>]) -> Vec<u64> {
    let sources = rows[0].len();
    let load = |index: usize| {
        format!(
            "ld.global.u64 %rd{0}, [%rd20+{1}];\ncvt.u32.u64 %r{0}, %rd{0};\ncvt.u16.u64 %rs{0}, %rd{0};\n\
             mov.b32 %f{0}, %r{0};\nmov.b64 %fd{0}, %rd{0};\nsetp.ne.u64 %p{0}, %rd{0}, 0;\n",
            index + 1,
            index * 8
        )
    };
    let body: String = (0..sources).map(load).collect();
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b16 %rs<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .pred %p<9>;\n\
         mov.u64 %rd0, 0; mov.u32 %r0, 0; mov.b16 %rs0, 0; mov.f32 %f0, 0f00000000; mov.f64 %fd0, 0d0000000000000000;\n\
         mov.pred %p0, 0;\n\
         ld.param.u64 %rd20, [in];\nld.param.u64 %rd21, [out];\nmov.u32 %r20, %tid.x;\n\
         mad.wide.u32 %rd21, %r20, 8, %rd21;\nmul.lo.u32 %r20, %r20, {stride};\ncvt.u64.u32 %rd22, %r20;\n\
         add.s64 %rd20, %rd20, %rd22;\n{body}{instruction}\n{result}\nst.global.u64 [%rd21], %rd0;\nret;\n}}\n",
        stride = sources * 8,
        result = result_of(instruction),
    );
    let mut device = Device::new(&text);
    let data: Vec<u64> = rows.iter().flatten().copied().collect();
    let (from, to) = (device.input(&data), device.output::<u64>(rows.len()));
    let params = vec![device.pointer(from), device.pointer(to)];
    device.run("k", 1, rows.len() as u32, params);
    device.read::<u64>(to)
}

/// Moves the destination, register 0 of its file, to `%rd0`.
fn result_of(instruction: &str) -> &'static str {
    let d = instruction.split_once(' ').map_or("", |(_, rest)| rest.trim());
    let file = d.split(['0', '|', ',']).next().unwrap_or("");
    match file {
        "%rs" => "cvt.u64.u16 %rd0, %rs0;",
        "%r" => "cvt.u64.u32 %rd0, %r0;",
        "%f" => "mov.b32 %r0, %f0;\ncvt.u64.u32 %rd0, %r0;",
        "%fd" => "mov.b64 %rd0, %fd0;",
        "%p" => "selp.u64 %rd0, 1, 0, %p0;",
        _ => "",
    }
}

/// Checks rows of sources with their result.
fn check(instruction: &str, cases: &[(&[u64], u64)]) {
    let rows: Vec<Vec<u64>> = cases.iter().map(|(sources, _)| sources.to_vec()).collect();
    let got = run(instruction, &rows);
    for ((sources, want), got) in cases.iter().zip(got) {
        assert_eq!(got, *want, "{instruction} of {sources:x?}: got {got:#x}, want {want:#x}");
    }
}

const fn f(value: f32) -> u64 {
    value.to_bits() as u64
}
const fn d(value: f64) -> u64 {
    value.to_bits()
}
const fn u(value: i32) -> u64 {
    value as u32 as u64
}
const fn h(value: i16) -> u64 {
    value as u16 as u64
}
const NAN: u64 = 0x7FFF_FFFF;
const INF: f32 = f32::INFINITY;
const TINY: u64 = 1;
const MINUS_ZERO: u64 = 1 << 31;

#[test]
fn integer_arithmetic() {
    let min = u(i32::MIN);
    check("add.s32 %r0, %r1, %r2;", &[(&[u(-1), 1], 0), (&[u(i32::MAX), 1], min)]);
    check("sub.u32 %r0, %r1, %r2;", &[(&[0, 1], u(-1))]);
    check("add.sat.s32 %r0, %r1, %r2;", &[(&[u(i32::MAX), 1], u(i32::MAX)), (&[min, u(-1)], min)]);
    check("mul.lo.s32 %r0, %r1, %r2;", &[(&[u(-3), 5], u(-15)), (&[1 << 31, 2], 0)]);
    check("mul.hi.s32 %r0, %r1, %r2;", &[(&[u(-1), 1], u(-1)), (&[min, min], 1 << 30)]);
    check("mul.hi.u32 %r0, %r1, %r2;", &[(&[u(-1), u(-1)], 0xFFFF_FFFE)]);
    check("mul.wide.s32 %rd0, %r1, %r2;", &[(&[u(-1), 5], (-5i64) as u64)]);
    check("mul.wide.u32 %rd0, %r1, %r2;", &[(&[u(-1), 2], 0x1_FFFF_FFFE)]);
    check("mul.wide.s16 %r0, %rs1, %rs2;", &[(&[h(-3), 7], u(-21))]);
    check("mul.wide.u16 %r0, %rs1, %rs2;", &[(&[0xFFFF, 0xFFFF], 0xFFFE_0001)]);
    check("mul.hi.s16 %rs0, %rs1, %rs2;", &[(&[h(-1), 1], 0xFFFF)]);
    check("mad.lo.s32 %r0, %r1, %r2, %r3;", &[(&[3, u(-4), 5], u(-7))]);
    check("mad.hi.u32 %r0, %r1, %r2, %r3;", &[(&[1 << 31, 4, u(-1)], 1)]);
    check("mad.hi.u16 %rs0, %rs1, %rs2, %rs3;", &[(&[0xFFFF, 0xFFFF, 3], 1), (&[300, 300, 0], 1)]);
    let halves: [(&[u64], u64); 2] = [(&[h(-1), 1, 2], 1), (&[h(-300), 300, 1], 0xFFFF)];
    check("mad.hi.s16 %rs0, %rs1, %rs2, %rs3;", &halves);
    check("mad.wide.s32 %rd0, %r1, %r2, %rd3;", &[(&[u(-2), 3, 10], 4)]);
    check("mad.lo.s16 %rs0, %rs1, %rs2, %rs3;", &[(&[300, 300, 1], 90_001 % 65_536)]);
    check("div.s32 %r0, %r1, %r2;", &[(&[u(-7), 2], u(-3)), (&[min, u(-1)], min)]);
    check("rem.s32 %r0, %r1, %r2;", &[(&[u(-7), 2], u(-1)), (&[min, u(-1)], 0)]);
    check("div.u16 %rs0, %rs1, %rs2;", &[(&[0xFFFF, 2], 0x7FFF)]);
    check("div.s16 %rs0, %rs1, %rs2;", &[(&[h(-9), 2], h(-4)), (&[h(i16::MIN), h(-1)], 0x8000)]);
    check("rem.s64 %rd0, %rd1, %rd2;", &[(&[(-7i64) as u64, 4], (-3i64) as u64)]);
    check("min.s32 %r0, %r1, %r2;", &[(&[u(-1), 1], u(-1))]);
    check("min.u32 %r0, %r1, %r2;", &[(&[u(-1), 1], 1)]);
    check("max.s16 %rs0, %rs1, %rs2;", &[(&[h(-1), 1], 1)]);
    check("max.s64 %rd0, %rd1, %rd2;", &[(&[u64::MAX, 1], 1)]);
    check("abs.s32 %r0, %r1;", &[(&[u(-5)], 5), (&[min], min)]);
    check("neg.s16 %rs0, %rs1;", &[(&[1], 0xFFFF)]);
    check("sad.s32 %r0, %r1, %r2, %r3;", &[(&[u(-5), 5, 1], 11)]);
    check("mul24.lo.u32 %r0, %r1, %r2;", &[(&[0xFF00_0003, 4], 12)]);
    check("dp4a.s32.s32 %r0, %r1, %r2, %r3;", &[(&[0xFF01_0203, 0x0101_0101, 10], 15)]);
}

#[test]
fn bits_and_shifts() {
    check("and.b32 %r0, %r1, %r2;", &[(&[0b1100, 0b1010], 0b1000)]);
    check("xor.b64 %rd0, %rd1, %rd2;", &[(&[u64::MAX, 1], u64::MAX - 1)]);
    check("not.b16 %rs0, %rs1;", &[(&[0x00FF], 0xFF00)]);
    check("cnot.b32 %r0, %r1;", &[(&[0], 1), (&[5], 0)]);
    check("shl.b32 %r0, %r1, %r2;", &[(&[1, 31], 1 << 31), (&[1, 32], 0), (&[1, u(-1)], 0)]);
    check("shr.u32 %r0, %r1, %r2;", &[(&[u(-1), 31], 1), (&[u(-1), 32], 0)]);
    check("shr.s32 %r0, %r1, %r2;", &[(&[u(-8), 1], u(-4)), (&[u(-8), 99], u(-1))]);
    check("shl.b16 %rs0, %rs1, %r2;", &[(&[1, 15], 0x8000), (&[1, 16], 0)]);
    check("shr.s16 %rs0, %rs1, %r2;", &[(&[h(-8), 1], h(-4)), (&[h(-8), 40], 0xFFFF)]);
    check("shr.u16 %rs0, %rs1, %r2;", &[(&[0x8000, 15], 1), (&[0x8000, 16], 0)]);
    check("shl.b64 %rd0, %rd1, %r2;", &[(&[1, 63], 1 << 63), (&[1, 64], 0)]);
    check("shr.s64 %rd0, %rd1, %r2;", &[(&[1 << 63, 70], u64::MAX)]);
    check("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", &[(&[1 << 31, 1, 33], 3)]);
    check("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", &[(&[1, 7, 40], 7)]);
    check("bfe.u32 %r0, %r1, %r2, %r3;", &[(&[0xABCD, 4, 8], 0xBC), (&[u(-1), 0, 0], 0)]);
    check("bfe.s64 %rd0, %rd1, %r2, %r3;", &[(&[0x80, 4, 4], (-8i64) as u64)]);
    check("bfi.b32 %r0, %r1, %r2, %r3, %r4;", &[(&[0xF, 0, 4, 2], 0x30)]);
    check("brev.b32 %r0, %r1;", &[(&[1], 1 << 31)]);
    check("clz.b32 %r0, %r1;", &[(&[0], 32), (&[1], 31)]);
    check("clz.b64 %r0, %rd1;", &[(&[0], 64), (&[1 << 40], 23)]);
    check("popc.b64 %r0, %rd1;", &[(&[u64::MAX], 64)]);
    check("bfind.u32 %r0, %r1;", &[(&[0], u(-1)), (&[0x100], 8)]);
    check("bfind.s32 %r0, %r1;", &[(&[u(-1)], u(-1)), (&[u(-2)], 0)]);
    check("bfind.shiftamt.u32 %r0, %r1;", &[(&[0x100], 23)]);
    check("prmt.b32 %r0, %r1, %r2, %r3;", &[(&[0x4433_2211, 0x8877_6655, 0x7531], 0x8866_4422)]);
    check("prmt.b32.f4e %r0, %r1, %r2, %r3;", &[(&[0x4433_2211, 0x8877_6655, 1], 0x5544_3322)]);
    check("lop3.b32 %r0, %r1, %r2, %r3, 0xE8;", &[(&[0b1100, 0b1010, 0b0110], 0b1110)]);
    check("bmsk.clamp.b32 %r0, %r1, %r2;", &[(&[4, 8], 0xFF0), (&[0, 40], u(-1))]);
}

#[test]
fn carry_chains() {
    check(
        "add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, %r4;",
        &[(&[u(-1), 1, 5, 6], 12), (&[1, 1, 5, 6], 11)],
    );
    check(
        "sub.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, %r4;",
        &[(&[0, 1, 5, 6], u(-2)), (&[1, 1, 5, 6], u(-1))],
    );
    // Sums and differences in one chain: a difference carries where nothing is borrowed, as an H100 does.
    check(
        "sub.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, %r4;",
        &[(&[0, 1, 5, 6], 11), (&[1, 1, 5, 6], 12)],
    );
    check(
        "add.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, %r4;",
        &[(&[u(-1), 1, 5, 6], u(-1)), (&[1, 1, 5, 6], u(-2))],
    );
    check(
        "sub.cc.u64 %rd0, %rd1, %rd2; addc.u64 %rd0, %rd3, %rd4;",
        &[(&[0, 1, 5, 6], 11), (&[1, 1, 5, 6], 12)],
    );
    check(
        "mad.lo.cc.u32 %r0, %r1, %r2, %r3; madc.hi.u32 %r0, %r1, %r2, %r3;",
        &[(&[u(-1), u(-1), u(-1), 0], u(-2))],
    );
    check("add.cc.u64 %rd0, %rd1, %rd2; addc.u64 %rd0, %rd3, %rd4;", &[(&[u64::MAX, 1, 5, 6], 12)]);
}

#[test]
fn float_arithmetic() {
    check(
        "add.f32 %f0, %f1, %f2;",
        &[
            (&[f(1.0), f(2.0)], f(3.0)),
            (&[f(INF), f(-INF)], NAN),
            (&[TINY, TINY], 2),
            (&[MINUS_ZERO, MINUS_ZERO], MINUS_ZERO),
            (&[0xFFC0_1234, f(1.0)], NAN),
        ],
    );
    check("add.ftz.f32 %f0, %f1, %f2;", &[(&[TINY, TINY], 0), (&[f(1.0), TINY], f(1.0))]);
    check("add.sat.f32 %f0, %f1, %f2;", &[(&[f(1.0), f(2.0)], f(1.0)), (&[NAN, 0], 0)]);
    check("sub.rn.f32 %f0, %f1, %f2;", &[(&[f(1.0), f(1.0)], 0)]);
    check("sub.rm.f32 %f0, %f1, %f2;", &[(&[f(1.0), f(1.0)], MINUS_ZERO)]);
    check("add.rz.f32 %f0, %f1, %f2;", &[(&[f(-1.0), f(1e-20)], 0xBF7F_FFFF)]);
    check("mul.rp.f32 %f0, %f1, %f2;", &[(&[f(1e-30), f(1e-30)], TINY)]);
    check("mul.rn.f32 %f0, %f1, %f2;", &[(&[f(0.0), f(-1.0)], MINUS_ZERO), (&[f(INF), 0], NAN)]);
    let step = 1.0 + 2f32.powi(-12);
    check(
        "fma.rn.f32 %f0, %f1, %f2, %f3;",
        &[
            (&[f(step), f(step), f(-1.0)], f(2f32.powi(-11) + 2f32.powi(-24))),
            (&[f(INF), 0, f(1.0)], NAN),
        ],
    );
    check("fma.rm.f32 %f0, %f1, %f2, %f3;", &[(&[f(1.0), f(1.0), f(-1.0)], MINUS_ZERO)]);
    check("mad.rn.f32 %f0, %f1, %f2, %f3;", &[(&[f(2.0), f(3.0), f(4.0)], f(10.0))]);
    check("div.rn.f32 %f0, %f1, %f2;", &[(&[f(1.0), f(3.0)], f(1.0 / 3.0)), (&[0, 0], NAN)]);
    check("div.rp.f32 %f0, %f1, %f2;", &[(&[f(-1.0), f(3.0)], 0xBEAA_AAAA)]);
    check("div.full.f32 %f0, %f1, %f2;", &[(&[f(1.0), 0], f(INF))]);
    check("rcp.rn.f32 %f0, %f1;", &[(&[MINUS_ZERO], f(-INF))]);
    check("rcp.approx.ftz.f32 %f0, %f1;", &[(&[TINY], f(INF)), (&[f(-INF)], MINUS_ZERO)]);
    check("sqrt.rn.f32 %f0, %f1;", &[(&[f(2.0)], 0x3FB5_04F3), (&[f(-1.0)], NAN)]);
    check("sqrt.rp.f32 %f0, %f1;", &[(&[f(2.0)], 0x3FB5_04F4), (&[f(4.0)], f(2.0))]);
    check("rsqrt.approx.f32 %f0, %f1;", &[(&[0], f(INF)), (&[f(4.0)], f(0.5))]);
    check("ex2.approx.ftz.f32 %f0, %f1;", &[(&[f(-INF)], 0), (&[f(3.0)], f(8.0))]);
    check("lg2.approx.f32 %f0, %f1;", &[(&[0], f(-INF)), (&[f(8.0)], f(3.0))]);
    check("min.f32 %f0, %f1, %f2;", &[(&[NAN, f(1.0)], f(1.0)), (&[0, MINUS_ZERO], MINUS_ZERO)]);
    check("max.NaN.f32 %f0, %f1, %f2;", &[(&[NAN, f(1.0)], NAN)]);
    check("neg.f32 %f0, %f1;", &[(&[0], MINUS_ZERO)]);
    check("abs.f32 %f0, %f1;", &[(&[f(-INF)], f(INF))]);
    check("copysign.f32 %f0, %f1, %f2;", &[(&[f(-1.0), f(5.0)], f(-5.0))]);
    check("testp.subnormal.f32 %p0, %f1;", &[(&[TINY], 1), (&[f(1.0)], 0)]);
    check("testp.notanumber.f64 %p0, %fd1;", &[(&[d(f64::NAN)], 1), (&[d(1.0)], 0)]);
}

#[test]
fn double_arithmetic() {
    check("add.f64 %fd0, %fd1, %fd2;", &[(&[d(0.1), d(0.2)], d(0.1 + 0.2))]);
    check("add.rp.f64 %fd0, %fd1, %fd2;", &[(&[d(1.0), d(1e-300)], d(1f64.next_up()))]);
    check("sub.rz.f64 %fd0, %fd1, %fd2;", &[(&[d(1.0), d(1e-300)], d(1f64.next_down()))]);
    check(
        "fma.rn.f64 %fd0, %fd1, %fd2, %fd3;",
        &[(&[d(3.0), d(0.1), d(-0.3)], d(3f64.mul_add(0.1, -0.3)))],
    );
    check("div.rn.f64 %fd0, %fd1, %fd2;", &[(&[d(1.0), d(0.0)], d(f64::INFINITY))]);
    check("sqrt.rn.f64 %fd0, %fd1;", &[(&[d(2.0)], d(2f64.sqrt()))]);
    check("max.f64 %fd0, %fd1, %fd2;", &[(&[d(f64::NAN), d(-1.0)], d(-1.0))]);
}

#[test]
fn half_arithmetic() {
    // 1.0 = 0x3C00, 2.0 = 0x4000; in bf16 0x3F80 and 0x4000.
    check("add.f16 %rs0, %rs1, %rs2;", &[(&[0x3C00, 0x3C00], 0x4000), (&[0x7C00, 0xFC00], 0x7FFF)]);
    check("mul.f16 %rs0, %rs1, %rs2;", &[(&[0x7BFF, 0x4000], 0x7C00)]);
    check("fma.rn.f16 %rs0, %rs1, %rs2, %rs3;", &[(&[0x3C00, 0x4000, 0x3C00], 0x4200)]);
    check("fma.rn.relu.f16 %rs0, %rs1, %rs2, %rs3;", &[(&[0xBC00, 0x4000, 0x3C00], 0)]);
    check("add.f16x2 %r0, %r1, %r2;", &[(&[0x3C00_4000, 0x3C00_3C00], 0x4000_4200)]);
    check("add.bf16 %rs0, %rs1, %rs2;", &[(&[0x3F80, 0x3F80], 0x4000)]);
    check("max.bf16x2 %r0, %r1, %r2;", &[(&[0x3F80_4000, 0x4000_3F80], 0x4000_4000)]);
    check("neg.f16 %rs0, %rs1;", &[(&[0], 0x8000)]);
    check("setp.gt.f16 %p0, %rs1, %rs2;", &[(&[0x4000, 0x3C00], 1), (&[0x7E00, 0], 0)]);
}

#[test]
fn comparisons() {
    check("xor.pred %p0, %p1, -1;", &[(&[1], 0), (&[0], 1)]);
    check("or.pred %p0, 0, %p1;", &[(&[1], 1), (&[0], 0)]);
    check("setp.lt.s32 %p0, %r1, %r2;", &[(&[u(-1), 0], 1)]);
    check("setp.lo.u32 %p0, %r1, %r2;", &[(&[u(-1), 0], 0)]);
    check("setp.ge.s16 %p0, %rs1, %rs2;", &[(&[h(-1), 0], 0), (&[0, h(-1)], 1)]);
    check("setp.gt.u64 %p0, %rd1, %rd2;", &[(&[u64::MAX, 0], 1)]);
    for (name, ordered, unordered) in [
        ("eq", [0, 1, 0], 0),
        ("ne", [1, 0, 1], 0),
        ("lt", [1, 0, 0], 0),
        ("le", [1, 1, 0], 0),
        ("gt", [0, 0, 1], 0),
        ("ge", [0, 1, 1], 0),
        ("equ", [0, 1, 0], 1),
        ("neu", [1, 0, 1], 1),
        ("ltu", [1, 0, 0], 1),
        ("leu", [1, 1, 0], 1),
        ("gtu", [0, 0, 1], 1),
        ("geu", [0, 1, 1], 1),
        ("num", [1, 1, 1], 0),
        ("nan", [0, 0, 0], 1),
    ] {
        check(
            &format!("setp.{name}.f32 %p0, %f1, %f2;"),
            &[
                (&[f(1.0), f(2.0)], ordered[0]),
                (&[f(1.0), f(1.0)], ordered[1]),
                (&[f(2.0), f(1.0)], ordered[2]),
                (&[NAN, f(1.0)], unordered),
            ],
        );
        check(&format!("setp.{name}.f64 %p0, %fd1, %fd2;"), &[(&[d(f64::NAN), 0], unordered)]);
    }
    check("setp.lt.and.s32 %p0, %r1, %r2, %p3;", &[(&[1, 2, 1], 1), (&[1, 2, 0], 0)]);
    check("setp.lt.or.s32 %p0, %r1, %r2, !%p3;", &[(&[3, 2, 0], 1), (&[3, 2, 1], 0)]);
    check(
        "mov.pred %p0, 0; setp.eq.xor.s32 %p4|%p0, %r1, %r2, %p3;",
        &[(&[1, 1, 1, 0], 1), (&[1, 2, 1, 0], 0)],
    );
    check("set.gt.u32.f32 %r0, %f1, %f2;", &[(&[f(2.0), f(1.0)], u(-1)), (&[NAN, 0], 0)]);
    check("set.eq.f32.s32 %f0, %r1, %r2;", &[(&[5, 5], f(1.0))]);
    check("selp.b32 %r0, %r1, %r2, %p3;", &[(&[7, 8, 1], 7), (&[7, 8, 0], 8)]);
    check("slct.b32.f32 %r0, %r1, %r2, %f3;", &[(&[7, 8, NAN], 8), (&[7, 8, MINUS_ZERO], 7)]);
    check("slct.u64.s32 %rd0, %rd1, %rd2, %r3;", &[(&[7, 8, u(-1)], 8)]);
    check("xor.pred %p0, %p1, %p2;", &[(&[1, 1], 0), (&[1, 0], 1)]);
}

#[test]
fn integer_conversions() {
    check("cvt.s64.s32 %rd0, %r1;", &[(&[u(-5)], (-5i64) as u64)]);
    check("cvt.u64.u32 %rd0, %r1;", &[(&[u(-5)], 0xFFFF_FFFB)]);
    check("cvt.s32.s8 %r0, %r1;", &[(&[0x1FF], u(-1))]);
    check("cvt.u32.u8 %r0, %r1;", &[(&[0x1FF], 0xFF)]);
    check("cvt.s16.s8 %rs0, %rs1;", &[(&[0xFF], 0xFFFF)]);
    check("cvt.u16.u64 %rs0, %rd1;", &[(&[0x12345], 0x2345)]);
    check("cvt.s8.s32 %r0, %r1;", &[(&[0x80], u(-128))]);
    check("cvt.sat.u8.s32 %r0, %r1;", &[(&[u(-5)], 0), (&[300], 255)]);
    check("cvt.sat.s16.s32 %rs0, %r1;", &[(&[40_000], 0x7FFF), (&[u(-40_000)], 0x8000)]);
    check("cvt.sat.s32.u32 %r0, %r1;", &[(&[u(-1)], u(i32::MAX))]);
    check("cvt.sat.u32.s64 %r0, %rd1;", &[(&[u64::MAX], 0), (&[1 << 40], u(-1))]);
}

#[test]
fn float_to_integer_conversions() {
    check(
        "cvt.rzi.s32.f32 %r0, %f1;",
        &[(&[f(-2.7)], u(-2)), (&[f(3e9)], u(i32::MAX)), (&[NAN], 0), (&[f(-INF)], u(i32::MIN))],
    );
    check("cvt.rni.s32.f32 %r0, %f1;", &[(&[f(2.5)], 2), (&[f(3.5)], 4), (&[f(-0.5)], 0)]);
    check("cvt.rmi.s32.f32 %r0, %f1;", &[(&[f(-2.1)], u(-3))]);
    check("cvt.rpi.u32.f32 %r0, %f1;", &[(&[f(2.1)], 3), (&[f(-2.0)], 0)]);
    check("cvt.rzi.u8.f32 %r0, %f1;", &[(&[f(300.0)], 255), (&[f(-1.0)], 0)]);
    check("cvt.rzi.s8.f32 %r0, %f1;", &[(&[f(-300.0)], u(-128))]);
    check(
        "cvt.rzi.s64.f32 %rd0, %f1;",
        &[(&[f(-3e9)], (-3_000_000_000i64) as u64), (&[NAN], 1 << 63)],
    );
    check("cvt.rzi.u64.f64 %rd0, %fd1;", &[(&[d(-1.0)], 0), (&[d(1e30)], u64::MAX)]);
    check("cvt.rzi.s32.f64 %r0, %fd1;", &[(&[d(-2.9)], u(-2)), (&[d(f64::NAN)], 1 << 31)]);
    check("cvt.rzi.s32.f16 %r0, %rs1;", &[(&[0xC500], u(-5))]);
}

#[test]
fn conversions_to_float() {
    check("cvt.rn.f32.s32 %f0, %r1;", &[(&[u(-7)], f(-7.0)), (&[16_777_217], f(16_777_216.0))]);
    check("cvt.rp.f32.s32 %f0, %r1;", &[(&[16_777_217], f(16_777_218.0))]);
    check("cvt.rz.f32.u64 %f0, %rd1;", &[(&[u64::MAX], f(1.844_674_3e19))]);
    check("cvt.rn.f32.u64 %f0, %rd1;", &[(&[u64::MAX], f(1.844_674_4e19))]);
    check("cvt.rn.f32.s8 %f0, %r1;", &[(&[0xFF], f(-1.0))]);
    check("cvt.rn.f64.u32 %fd0, %r1;", &[(&[u(-1)], d(4_294_967_295.0))]);
    check("cvt.rn.f64.s64 %fd0, %rd1;", &[(&[u64::MAX], d(-1.0))]);
    check("cvt.rn.f32.f64 %f0, %fd1;", &[(&[d(0.1)], f(0.1)), (&[d(1e300)], f(INF))]);
    check("cvt.rz.f32.f64 %f0, %fd1;", &[(&[d(1e300)], f(f32::MAX))]);
    check(
        "cvt.f64.f32 %fd0, %f1;",
        &[(&[f(0.1)], d(f64::from(0.1f32))), (&[TINY], d(f64::from(f32::from_bits(1))))],
    );
    check(
        "cvt.rn.f16.f32 %rs0, %f1;",
        &[(&[f(1.0)], 0x3C00), (&[f(65_520.0)], 0x7C00), (&[NAN], 0x7FFF)],
    );
    check("cvt.rz.f16.f32 %rs0, %f1;", &[(&[f(65_535.0)], 0x7BFF)]);
    check(
        "cvt.rn.bf16.f32 %rs0, %f1;",
        &[(&[f(1.0)], 0x3F80), (&[0x3F80_8000], 0x3F80), (&[0x3F81_8000], 0x3F82)],
    );
    check("cvt.f32.f16 %f0, %rs1;", &[(&[0x0001], f(2f32.powi(-24))), (&[0xFC00], f(-INF))]);
    check("cvt.rn.f16.s32 %rs0, %r1;", &[(&[2049], 0x6800), (&[70_000], 0x7C00)]);
    check("cvt.rn.f16x2.f32 %r0, %f1, %f2;", &[(&[f(1.0), f(2.0)], 0x3C00_4000)]);
    check("cvt.rmi.f32.f32 %f0, %f1;", &[(&[f(-1.5)], f(-2.0))]);
    check("cvt.rni.f64.f64 %fd0, %fd1;", &[(&[d(2.5)], d(2.0))]);
    check("cvt.sat.f32.f32 %f0, %f1;", &[(&[f(2.0)], f(1.0)), (&[NAN], 0)]);
    check("cvt.ftz.f32.f32 %f0, %f1;", &[(&[TINY], 0)]);
}

#[test]
fn moves() {
    check("mov.b64 %rd0, {%r1, %r2};", &[(&[1, 2], 0x2_0000_0001)]);
    check("mov.b32 %r0, 0; mov.b64 {%r5, %r0}, %rd1;", &[(&[0x2_0000_0001], 2)]);
    check("mov.b32 %r0, {%rs1, %rs2};", &[(&[1, 2], 0x2_0001)]);
    check("mov.u32 %r0, WARP_SZ;", &[(&[0], 32)]);
    let bytes = "mov.b32 {%b1, %b2, _, %b3}, %r1; mov.b16 {%b4, _}, %rs2;";
    check(
        &format!(
            "mov.b32 %r0, 0; {{ .reg .b8 %b<5>; {bytes} mov.b32 %r0, {{%b3, %b4, %b1, 9}}; }}"
        ),
        &[(&[0x4433_2211, 0xBBAA], 0x0911_AA44)],
    );
    check("mov.b32 %r0, 0; mov.u32 %r0, %clock_hi;", &[(&[0], 0)]);
    check("isspacep.shared %p0, %rd1;", &[(&[0], 0)]);
    check("mov.pred %p0, 0; cvta.shared.u64 %rd2, %rd1; isspacep.shared %p0, %rd2;", &[(&[16], 1)]);
}

#[test]
fn parts_of_a_word() {
    check("add.u16x2 %r0, %r1, %r2;", &[(&[0xFFFF_0001, 0x0001_FFFF], 0)]);
    check("min.relu.s16x2 %r0, %r1, %r2;", &[(&[0xFFFF_0005, 0x0001_0003], 3)]);
    check("set.le.u32.bf16x2 %r0, %r1, %r2;", &[(&[0x3F80_4000, 0x3F80_3F80], 0xFFFF_0000)]);
    check(
        "mov.pred %p0, 0; setp.lt.and.f16x2 %p4|%p0, %r1, %r2, !%p3;",
        &[(&[0x3C00_0000, 0x4000_0000, 0], 1), (&[0x3C00_0000, 0x4000_0000, 1], 0)],
    );
    check("vadd.s32.s32.u32.sat %r0, %r1.b3, %r2.h0;", &[(&[0xFF00_0000, 0xFFFF], 0xFFFE)]);
    // The ISA says 0, but the assembler takes all that is outside for too large (`measured.rs`).
    check("vsub.u32.u32.u32.sat %r0.b1, %r1, %r2, %r3;", &[(&[1, 2, 0], 0xFF00)]);
    check("vsub.u32.u32.u32.sat %r0.b1, %r1, %r2, %r3;", &[(&[9, 2, u(-1)], 0xFFFF_07FF)]);
    check("vset.s32.u32.ne.max %r0, %r1, %r2, %r3;", &[(&[1, 2, u(-9)], 1)]);
    check("vset.s32.s32.gt.max %r0, %r1, %r2, %r3;", &[(&[1, u(-1), 0], 1), (&[0, 1, 5], 5)]);
    check("vset4.u32.u32.ne %r0, %r1, %r2, %r3;", &[(&[0x0102_0304, 0x0102_0004, 0], 0x100)]);
    // The high half of the first minus the low half of the second.
    check(
        "vsub2.s32.s32.s32 %r0.h0, %r1.h31, %r2.h22, %r3;",
        &[(&[0x5_0000, 2, u(-1)], u(-65_533))],
    );
}

#[test]
fn atomics_on_vectors() {
    let start = "st.global.u64 [%rd21], %rd1;";
    let end = "ld.global.u64 %rd0, [%rd21];";
    let two = |low: f32, high: f32| f(low) | f(high) << 32;
    let add = "atom.global.add.v2.f32 {%f3, %f2}, [%rd21], {%f2, %f3};";
    check(
        &format!("{start} {add} {end}"),
        &[(&[two(1.0, 2.0), f(10.0), f(20.0)], two(11.0, 22.0))],
    );
    check(
        &format!("{start} {add} mov.b32 %r5, %f2; mov.b32 %r6, %f3; mov.b64 %rd0, {{%r5, %r6}};"),
        &[(&[two(1.0, 2.0), f(10.0), f(20.0)], two(2.0, 1.0))],
    );
    let add = "red.global.add.noftz.v2.f16x2 [%rd21], {%r2, %r3};";
    check(&format!("{start} {add} {end}"), &[(&[0x3C00, 0x3C00, 0x4000], 0x4000_0000_4000)]);
}

#[test]
fn one_lane_leads() {
    let leads = "elect.sync %r5|%p0, -1; selp.u32 %r6, 1, 0, %p0; mov.b64 %rd0, {%r5, %r6};";
    let row = vec![0];
    let got = run(leads, &vec![row; 32]);
    assert_eq!((got[0], &got[1..]), (1 << 32, [0; 31].as_slice()));
}

#[test]
fn hints_change_nothing() {
    let policy = "createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;";
    let store = "st.global.L2::cache_hint.u64 [%rd21], %rd1, %rd9;";
    let load = "ld.global.L2::cache_hint.u64 %rd0, [%rd21], %rd9;";
    check(&format!("{policy} {store} {load}"), &[(&[77], 77)]);
}

/// `a * b` and `c - p` in one, which keeps what the product alone would round away: `ptxas` does so, too.
#[test]
fn products_are_contracted_with_differences() {
    let (x, c) = (f(1.0 + 2f32.powi(-12)), f(1.0 + 2f32.powi(-11)));
    let with = |rest: &str| format!("mov.f32 %f0, %f1; mul.f32 %f4, %f1, %f2; {rest}");
    let check_f32 = |rest: &str, want: f32| check(&with(rest), &[(&[x, x, c], f(want))]);
    check_f32("sub.f32 %f0, %f3, %f4;", -(2f32.powi(-24)));
    check_f32("sub.f32 %f0, %f4, %f3;", 2f32.powi(-24));
    check_f32("neg.f32 %f5, %f3; add.f32 %f0, %f5, %f4;", 2f32.powi(-24));
    check_f32("sub.sat.f32 %f0, %f4, %f3;", 2f32.powi(-24));
    check_f32("sub.rn.f32 %f0, %f3, %f4;", 0.0);
    check_f32("sub.f32 %f5, %f3, %f4; mul.f32 %f6, %f4, %f4; mov.f32 %f0, %f5;", 0.0);
    let wide = [d(1.0 + 2f64.powi(-27)), d(1.0 + 2f64.powi(-27)), d(1.0 + 2f64.powi(-26))];
    let instructions = "mov.f64 %fd0, %fd1; mul.f64 %fd4, %fd1, %fd2; sub.f64 %fd0, %fd3, %fd4;";
    check(instructions, &[(&wide, d(-(2f64.powi(-54))))]);
    for (ty, x, c, want) in [("f16", 0x3C10, 0x3C20, 0x8C00), ("bf16", 0x3F88, 0x3F90, 0xBB80)] {
        let one =
            format!("mov.b16 %rs0, %rs1; mul.{ty} %rs4, %rs1, %rs2; sub.{ty} %rs0, %rs3, %rs4;");
        check(&one, &[(&[x, x, c], want)]);
        let two = format!("mov.b32 %r0, %r1; mul.{ty}x2 %r4, %r1, %r2; sub.{ty}x2 %r0, %r3, %r4;");
        let [x, c, want] = [x, c, want].map(|half| half << 16 | half);
        check(&two, &[(&[x, x, c], want)]);
    }
}

/// The NaNs of `f64` that an H100 makes and passes on: hashes of the results for all pairs or triples of these numbers.
#[test]
fn nans_of_f64_are_those_of_a_gpu() {
    const NUMBERS: [u64; 15] = [
        0,
        1 << 63,
        0x3FF0_0000_0000_0000,
        0xBFF0_0000_0000_0000,
        0x7FF0_0000_0000_0000,
        0xFFF0_0000_0000_0000,
        0x7FF8_0000_0000_0000,
        0xFFF8_0000_0000_0000,
        0x7FF8_0000_1234_5678,
        0xFFF8_0000_DEAD_BEEF,
        0x7FF0_0000_0000_0001,
        0xFFF4_0000_0000_0077,
        1,
        0x7FEF_FFFF_FFFF_FFFF,
        0x7FFF_FFFF_FFFF_FFFF,
    ];
    for (instruction, hash) in [
        ("add.rn.f64 %fd0, %fd1, %fd2;", 0x5351_0AF3_039A_1E40),
        ("sub.rn.f64 %fd0, %fd1, %fd2;", 0x3159_8772_2FF0_FA9F),
        ("mul.rn.f64 %fd0, %fd1, %fd2;", 0xE036_0116_A6AF_5136),
        ("mul.rp.f64 %fd0, %fd1, %fd2;", 0xC060_2E4A_764A_1BC7),
        ("fma.rn.f64 %fd0, %fd1, %fd2, %fd3;", 0x0EB3_47D6_B0D5_1F26),
        ("div.rn.f64 %fd0, %fd1, %fd2;", 0xEF3D_72FC_11F3_27D6),
        ("rcp.rn.f64 %fd0, %fd1;", 0x9277_7D78_C783_4062),
        ("rcp.approx.ftz.f64 %fd0, %fd1;", 0xF212_49C8_11BD_8BEA),
        ("sqrt.rn.f64 %fd0, %fd1;", 0x034E_D4DF_3D3D_95B1),
        ("rsqrt.approx.f64 %fd0, %fd1;", 0x8A92_F2DD_4523_B45C),
        ("rsqrt.approx.ftz.f64 %fd0, %fd1;", 0x26AC_F044_93CB_9C3A),
        ("min.f64 %fd0, %fd1, %fd2;", 0xA716_EB2A_D058_8BF6),
        ("max.f64 %fd0, %fd1, %fd2;", 0x513F_4EC7_33CA_8BA6_u64),
        ("neg.f64 %fd0, %fd1;", 0xF81B_69D6_B169_31AE),
        ("abs.f64 %fd0, %fd1;", 0x2C4C_8EB8_15C6_0A2E),
        ("cvt.rni.f64.f64 %fd0, %fd1;", 0x77FC_7A85_0AA4_1C2F),
        (
            "mov.f64 %fd0, %fd1; cvt.rn.f32.f64 %f2, %fd1; cvt.f64.f32 %fd0, %f2;",
            0x816F_A0A2_92EB_E9CA,
        ),
    ] {
        let operands = instruction.matches("%fd").count().min(4) - 1;
        let operands = if instruction.contains("cvt.") { 1 } else { operands };
        // The first operand is the one that changes fastest.
        let rows: Vec<Vec<u64>> = (0..NUMBERS.len().pow(operands as u32))
            .map(|row| (0..operands as u32).map(|at| NUMBERS[row / 15usize.pow(at) % 15]).collect())
            .collect();
        let results = rows.chunks(225).flat_map(|rows| run(instruction, rows));
        let bytes = results.flat_map(u64::to_le_bytes);
        let found = bytes.fold(1_469_598_103_934_665_603, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
        });
        assert_eq!(found, hash, "{instruction}");
    }
}

/// As on an H100.
#[test]
fn nans_have_no_sign_and_integers_saturate_as_floats() {
    const NAN: u64 = 0x7FC0_0001;
    check(
        "min.NaN.xorsign.abs.f32 %f0, %f1, %f2;",
        &[
            (&[NAN, f(-2.0)], 0x7FFF_FFFF),
            (&[f(-1.0), NAN | 1 << 31], 0x7FFF_FFFF),
            (&[f(-1.0), f(3.0)], f(-1.0)),
            (&[f(f32::NEG_INFINITY), f(3.0)], f(-3.0)),
        ],
    );
    check("min.xorsign.abs.f32 %f0, %f1, %f2;", &[(&[NAN, NAN | 1 << 31], 0x7FFF_FFFF)]);
    check(
        "max.xorsign.abs.f16x2 %r0, %r1, %r2;",
        &[(&[0x7E00_BC00, 0xFE00_4000], 0x7FFF_C000), (&[0xFC00_0000, 0x3C00_8000], 0xFC00_8000)],
    );
    check(
        "cvt.rn.sat.f32.s32 %f0, %r1;",
        &[(&[7], f(1.0)), (&[u64::from(u32::MAX)], 0), (&[1], f(1.0)), (&[0], 0)],
    );
    check("cvt.rn.sat.f16.s32 %rs0, %r1;", &[(&[7], 0x3C00), (&[u64::from(u32::MAX)], 0)]);
}
