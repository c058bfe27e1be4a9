//! Places and strides of `wmma.load` and `wmma.store`, against those that an NVIDIA H200 takes: `tests/golden/align.py` tried them.
//!
//! What it runs, and with the right elements, is no finding. Where it faults, or takes other elements, the place is misaligned.

use std::fmt::Write;
use std::sync::LazyLock;

use crate::support::{Device, Plain, fixture};
use ptxvm::FindingKind;

static TRIED: LazyLock<String> = LazyLock::new(|| fixture("golden/align.tsv"));

/// Bytes of the buffers.
const BUFFER: usize = 4096;

/// A line of the table: a matrix and how it lies.
#[derive(Clone, Copy)]
struct Case {
    role: &'static str,
    shape: &'static str,
    kind: &'static str,
    layout: &'static str,
    space: &'static str,
}

impl Case {
    fn element(self) -> usize {
        match self.kind {
            "s8" => 1,
            "f16" | "bf16" => 2,
            "f64" => 8,
            _ => 4,
        }
    }

    /// How many rows or columns lie in one piece each, and the elements of each.
    fn lines(self) -> (usize, usize) {
        let dims: Vec<usize> = self
            .shape
            .split(['m', 'n', 'k'])
            .skip(1)
            .map(|n| n.parse().expect("a number"))
            .collect();
        let [m, n, k] = dims[..] else { panic!("{}", self.shape) };
        let (rows, cols) = match self.role {
            "a" => (m, k),
            "b" => (k, n),
            _ => (m, n),
        };
        if self.layout == "row" { (rows, cols) } else { (cols, rows) }
    }

    /// Registers of a lane, and bytes of each.
    fn registers(self) -> (usize, usize) {
        let (lines, length) = self.lines();
        let bytes = if self.kind == "f64" { 8 } else { 4 };
        let count = match (self.role, self.kind) {
            ("a" | "b", "f16") => 8,
            _ => lines * length * self.element() / 32 / bytes,
        };
        (count, bytes)
    }

    /// Bytes from line to line that no rule forbids.
    fn even_stride(self) -> usize {
        let (_, length) = self.lines();
        (length * self.element()).next_multiple_of(32) + 32
    }

    /// A kernel of `src`, `out`, bytes from the start and elements from line to line: it writes the registers of a load to `out`, or
    /// stores registers there. Shared memory holds what `src` does first, and goes to `out` in the end.
    fn kernel(self) -> String {
        let (count, bytes) = self.registers();
        let reg = match self.kind {
            "f32" => "%f",
            "f64" => "%fd",
            _ => "%v",
        };
        let names: Vec<String> = (0..count).map(|index| format!("{reg}{index}")).collect();
        let fragment = format!("{{{}}}", names.join(","));
        let stores = self.role == "d";
        let shared = self.space.ends_with("shared");
        let (window, place) = match self.space {
            "global" => (".global", "%rd5"),
            "shared" => (".shared", "%r5"),
            _ => ("", "%rd6"),
        };
        let mut body = String::new();
        let mut line = |text: &str| writeln!(body, "{text}").expect("room");
        line("ld.param.u64 %rd0,[src]; ld.param.u64 %rd1,[out]; mov.u32 %r0,%tid.x;");
        line("ld.param.u32 %r1,[at]; ld.param.u32 %r2,[stride]; mov.u32 %r3,own;");
        line("cvta.to.global.u64 %rd0,%rd0; cvta.to.global.u64 %rd1,%rd1; cvt.u64.u32 %rd3,%r1;");
        line("mul.wide.u32 %rd2,%r0,16; cvt.u32.u64 %r4,%rd2; add.u32 %r4,%r3,%r4;");
        line("add.u64 %rd7,%rd0,%rd2; add.u64 %rd8,%rd1,%rd2;");
        if shared {
            for from in (0..BUFFER).step_by(512) {
                line(&format!("ld.global.v4.u32 {{%r10,%r11,%r12,%r13}},[%rd7+{from}];"));
                line(&format!("st.shared.v4.u32 [%r4+{from}],{{%r10,%r11,%r12,%r13}};"));
            }
            line(
                "bar.sync 0; add.u32 %r5,%r3,%r1; cvt.u64.u32 %rd5,%r5; cvta.shared.u64 %rd6,%rd5;",
            );
        } else {
            let base = if stores { "%rd1" } else { "%rd0" };
            line(&format!("add.u64 %rd5,{base},%rd3; cvta.global.u64 %rd6,%rd5;"));
        }
        let Self { role, shape, kind, layout, .. } = self;
        let form = format!("{role}.sync.aligned.{layout}.{shape}{window}.{kind}");
        if stores {
            for (index, name) in names.iter().enumerate() {
                line(&format!("mad.lo.u32 %r6,%r0,64,{index}; mul.lo.u32 %r6,%r6,65537;"));
                line(&match reg {
                    "%fd" => format!("cvt.rn.f64.u32 {name},%r6;"),
                    _ => format!("mov.b32 {name},%r6;"),
                });
            }
            line(&format!("wmma.store.{form} [{place}],{fragment},%r2;"));
            if shared {
                line("bar.sync 0;");
                for from in (0..BUFFER).step_by(512) {
                    line(&format!("ld.shared.v4.u32 {{%r10,%r11,%r12,%r13}},[%r4+{from}];"));
                    line(&format!("st.global.v4.u32 [%rd8+{from}],{{%r10,%r11,%r12,%r13}};"));
                }
            }
        } else {
            line(&format!("wmma.load.{form} {fragment},[{place}],%r2;"));
            line(&format!("mul.wide.u32 %rd9,%r0,{}; add.u64 %rd9,%rd1,%rd9;", count * bytes));
            for (index, name) in names.iter().enumerate() {
                line(&format!("st.global.b{} [%rd9+{}],{name};", bytes * 8, bytes * index));
            }
        }
        format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 own[{BUFFER}];\n\
             .visible .entry k(.param .u64 src,.param .u64 out,.param .u32 at,.param .u32 stride)\n{{\n\
             .reg .b32 %r<20>; .reg .b32 %v<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %fd<20>;\n\
             {body}ret;\n}}\n"
        )
    }

    /// A matrix in memory, the same one wherever it lies.
    fn spread(self, at: usize, stride: usize) -> Vec<u8> {
        let (lines, length) = self.lines();
        let mut bytes = vec![0xEE; BUFFER];
        let mut state = 7u32;
        for line in 0..lines {
            for byte in &mut bytes[at + line * stride..][..length * self.element()] {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
        }
        bytes
    }

    /// What the machine finds, and the elements, wherever they lie.
    fn run(self, device: &mut Device, at: usize, stride: usize) -> (Vec<FindingKind>, Vec<u8>) {
        let src = device.input(&self.spread(at, stride));
        let out = device.in_out(&[0u8; BUFFER]);
        let mut params = [src, out].map(|id| device.pointer(id)).to_vec();
        params.push((at as u32).bytes());
        params.push(((stride / self.element()) as u32).bytes());
        let outcome = device.launch("k", [1; 3], [32, 1, 1], 0, params);
        let found = outcome.findings.into_iter().map(|finding| finding.kind).collect();
        let bytes = device.memory.bytes(out);
        if self.role != "d" {
            return (found, bytes);
        }
        let (lines, length) = self.lines();
        let line = |line: usize| bytes[at + line * stride..][..length * self.element()].to_vec();
        (found, (0..lines).flat_map(line).collect())
    }
}

#[test]
fn places_are_those_that_a_gpu_takes() {
    let mut table = TRIED.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = table.next().expect("a head");
    let (mut report, mut taken, mut refused) = (String::new(), 0, 0);
    for line in table {
        let [role, shape, kind, layout, space, ..] = line[..] else { panic!("{line:?}") };
        let case = Case { role, shape, kind, layout, space };
        let even = case.even_stride();
        let mut device = Device::new(&case.kernel());
        let (found, right) = case.run(&mut device, 0, even);
        assert_eq!(found, [], "{line:?}");
        for (what, verdict) in head.iter().zip(&line).skip(5) {
            let (what, by) = what.split_once('+').expect("what and bytes");
            let by: usize = by.parse().expect("bytes");
            // A constant stride is one like any other here.
            let (at, stride) = if what == "at" { (by, even) } else { (0, even + by) };
            if *verdict == "-" {
                continue;
            }
            let (found, elements) = case.run(&mut device, at, stride);
            let agrees = if *verdict == "ok" {
                taken += 1;
                found.is_empty() && elements == right
            } else {
                refused += 1;
                let misaligned = |kind: &FindingKind| matches!(kind, FindingKind::Misaligned(_));
                !found.is_empty() && found.iter().all(misaligned)
            };
            if !agrees {
                let case = line[..5].join(" ");
                writeln!(report, "{case} {what}+{by}: {verdict} on the GPU, {found:?} here")
                    .expect("room");
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
    assert_eq!((taken, refused), (2148, 488));
}
