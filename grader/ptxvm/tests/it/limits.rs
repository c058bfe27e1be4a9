//! What a launch and a load refuse.

use ptxvm::finding::Check as _;
use ptxvm::{ElementWork, Finding, FindingKind, Launch, LaunchError, Memory, Module, Options};

use crate::support::{Device, Plain};

fn refused(launch: &Launch) -> String {
    let mut device = Device::of("fixtures/tiled.ptx");
    let kernel = device.module.kernel("reverse").unwrap();
    let done =
        ptxvm::launch(&device.module, kernel, launch, &mut device.memory, &Options::default());
    match done {
        Err(LaunchError::Configuration(message) | LaunchError::Parameters(message)) => message,
        other => panic!("{other:?}"),
    }
}

fn launch() -> Launch {
    Launch { grid: [1; 3], block: [32, 1, 1], dynamic_shared: 128, params: vec![0u64.bytes()] }
}

#[test]
fn configurations_out_of_the_device_limits() {
    assert_eq!(
        refused(&Launch { grid: [1, 0, 1], ..launch() }),
        "the grid has 0 blocks in y; 1 to 65535 are allowed"
    );
    assert_eq!(
        refused(&Launch { block: [64, 32, 1], ..launch() }),
        "the block has 2048 threads; at most 1024 are allowed"
    );
    assert!(refused(&Launch { block: [1, 1, 65], ..launch() }).contains("1 to 64"));
    assert_eq!(
        refused(&Launch { dynamic_shared: 232_449, ..launch() }),
        "the block needs 0 bytes of static and 232449 of dynamic shared memory; at most 232448 are allowed"
    );
}

#[test]
fn parameters_that_do_not_match() {
    assert_eq!(
        refused(&Launch { params: vec![], ..launch() }),
        "0 parameters given, but the kernel has 1"
    );
    assert_eq!(
        refused(&Launch { params: vec![0u32.bytes()], ..launch() }),
        "parameter 0 has 8 bytes, but 4 were given"
    );
}

fn load_error(body: &str) -> ptxvm::LoadError {
    let text = format!(
        ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;\n.loc 1 7 0\n{body}\n}}\n.file 1 \"k.cu\"\n"
    );
    match Module::load(&text) {
        Ok(module) => module.kernel("k").unwrap().refusal().expect(body).clone(),
        Err(error) => error,
    }
}

#[test]
fn a_kernel_that_cannot_run_leaves_the_others_alone() {
    let entry = |name: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n{body}\nret;\n}}\n"
        )
    };
    let text = [
        ".version 9.0\n.target sm_75\n.address_size 64\n.func f()\n{\ntcgen05.wait::ld.sync.aligned;\nret;\n}\n",
        &entry("a", "mov.u32 %r1, %pm0;"),
        &entry("b", "mov.u32 %r1, 1;"),
        &entry("c", "call f, ();"),
    ]
    .concat();
    let module = Module::load(&text).unwrap();
    let refusals: Vec<_> =
        module.kernels().map(|k| k.refusal().map(|e| (e.ptx_line, e.unsupported))).collect();
    assert_eq!(refusals, [Some((13, true)), None, Some((6, true))]);
    let config =
        Launch { grid: [1; 3], block: [1, 1, 1], dynamic_shared: 0, params: vec![vec![0; 8]] };
    let run = |name: &str| {
        let mut memory = Memory::default();
        ptxvm::launch(
            &module,
            module.kernel(name).unwrap(),
            &config,
            &mut memory,
            &Options::default(),
        )
    };
    assert!(run("b").unwrap().findings.is_empty());
    assert!(matches!(run("a"), Err(LaunchError::Refused(error)) if error.message.contains("%pm0")));
}

#[test]
fn unsupported_is_not_malformed() {
    for body in [
        "tcgen05.wait::ld.sync.aligned;",
        "add.f16.weird %r1, %r2, %r3;",
        "mov.u32 %r1, %pm0;",
        "call (%r1), f, (%p1);",
        "shfl.down.b32 %r1, %r1, 1, 31;",
    ] {
        let error = load_error(body);
        assert!(error.unsupported, "{body}: {error}");
        assert_eq!(error.ptx_line, 10, "{body}");
        assert_eq!(error.source_loc.unwrap().line, 7, "{body}");
    }
    for body in [
        "add.s32 %r1, %r2;",
        "add.s32 %r1, %r2, %rd3;",
        "add.s32 %r1, q2, 3;",
        "bra nowhere;",
        "setp.s32 %p1, %r1, %r2;",
        "ld.global.u32 %r1, %rd1;",
        "@%r1 ret;",
        "L: L: ret;",
    ] {
        let error = load_error(body);
        assert!(!error.unsupported, "{body}: {error}");
        assert_eq!(error.ptx_line, 10, "{body}");
    }
}

#[test]
fn frames_of_a_stack_have_a_limit() {
    let text = ".version 9.0\n.target sm_75\n.func f()\n{\n.local .b8 much[600000];\ncall f, ();\nret;\n}\n\
                .visible .entry k()\n{\ncall f, ();\nret;\n}\n";
    let module = Module::load(text).unwrap();
    let error = module.kernel("k").unwrap().refusal().unwrap();
    assert!(error.too_large && error.message.contains("512 KiB"), "{error}");
}

/// A thread of a GPU has at most 512 KiB of local memory.
#[test]
fn local_memory_has_a_limit() {
    let run = |bytes: u32, grid: u32, cooperative: bool| -> Result<u32, LaunchError> {
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n.visible .entry k(.param .u64 out)\n{{\n\
             .local .align 4 .b8 much[{bytes}];\n.reg .b32 %r<3>;\n.reg .b64 %rd<5>;\n.loc 1 7 1\n\
             ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n\
             st.local.u32 [much+{}], %r1;\nld.local.u32 %r2, [much+{}];\nmul.wide.u32 %rd3, %r1, 4;\n\
             add.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r2;\nret;\n}}\n",
            bytes - 4,
            bytes - 4
        );
        let mut device = Device::new(&text);
        let out = device.output::<u32>(1024);
        let launch = Launch {
            grid: [grid, 1, 1],
            block: [1024, 1, 1],
            dynamic_shared: 0,
            params: vec![device.pointer(out)],
        };
        let options = Options { cooperative, ..Options::default() };
        let kernel = device.module.kernel("k").unwrap();
        ptxvm::launch(&device.module, kernel, &launch, &mut device.memory, &options)?;
        Ok(device.read::<u32>(out)[1023])
    };
    assert_eq!(run(512 << 10, 1, false), Ok(1023));
    assert_eq!(run(512 << 10, 4, true), Ok(1023));
    for (bytes, grid, cooperative) in [((512 << 10) + 4, 1, false), (512 << 10, 5, true)] {
        let Err(LaunchError::Refused(error)) = run(bytes, grid, cooperative) else { panic!() };
        assert!(error.too_large, "{error}");
        assert_eq!(error.source_loc.map(|loc| loc.line), (!cooperative).then_some(7));
    }
}

#[test]
fn functions_that_cannot_run_refuse_only_who_may_call_them() {
    let text = ".version 9.0\n.target sm_75\n.address_size 64\n.func f()\n{\ntcgen05.wait::ld.sync.aligned;\nret;\n}\n\
                .func g(.param .b32 x)\n{\nret;\n}\n.global .align 8 .u64 table[2] = {f, g};\n\
                .visible .entry a()\n{\n.reg .b64 p;\nmov.u64 p, f;\nt: .callprototype ()_ ();\ncall p, (), t;\nret;\n}\n\
                .visible .entry b()\n{\n.reg .b64 p;\n.param .b32 x;\nmov.u64 p, g;\n\
                t: .callprototype ()_ (.param .b32 _);\ncall p, (x), t;\nret;\n}\n";
    let module = Module::load(text).unwrap();
    let refusal = |name: &str| module.kernel(name).unwrap().refusal().map(|e| e.message.clone());
    assert!(refusal("a").unwrap().contains("tcgen05"));
    assert_eq!(refusal("b"), None);
}

#[test]
fn a_full_stack_ends_the_launch() {
    let text = ".version 9.0\n.target sm_75\n.func f()\n{\n.local .b8 much[1000];\ncall f, ();\nret;\n}\n\
                .visible .entry k()\n{\ncall f, ();\nret;\n}\n";
    let outcome = Device::new(text).launch("k", [1_000_000, 1, 1], [64, 1, 1], 0, vec![]);
    let [finding] = &outcome.findings[..] else { panic!("{:?}", outcome.findings) };
    assert!(matches!(finding.kind, FindingKind::StackOverflow(_)), "{finding:?}");
    assert_eq!(finding.count, 64);
}

#[test]
fn every_launch_refuses_a_refused_kernel() {
    const REFUSED: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\
                           tcgen05.wait::ld.sync.aligned;\nret;\n}\n";
    let module = Module::load(REFUSED).expect("a module");
    let kernel = module.kernel("k").expect("the kernel");
    let why = LaunchError::Refused(kernel.refusal().expect("a refusal").clone());
    let launch = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, params: vec![] };
    let (mut memory, options) = (Memory::default(), Options::default());
    let outcome = ptxvm::launch(&module, kernel, &launch, &mut memory, &options);
    assert_eq!(outcome.err().as_ref(), Some(&why));
    let profiled = ptxvm::launch_profiled(&module, kernel, &launch, &mut memory, &options);
    assert_eq!(profiled.err().as_ref(), Some(&why));
    let counted = ptxvm::launch_counted(&module, kernel, &launch, &mut memory, &options);
    assert_eq!(counted.err().as_ref(), Some(&why));
    let reversed = ptxvm::Schedule::Reversed;
    let reordered =
        ptxvm::launch_reordered(&module, kernel, &launch, &mut memory, &options, reversed);
    assert_eq!(reordered.err().as_ref(), Some(&why));
    let mut provenance = ptxvm::Provenance::new([]);
    let followed = ptxvm::launch_with_provenance(
        &module,
        kernel,
        &launch,
        &mut memory,
        &options,
        &mut provenance,
    );
    assert_eq!(followed.err(), Some(why));
}

/// Three instructions for each turn of a loop.
const COUNT_TO_N: &str = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n\
     .reg .b32 %r<3>;\n.reg .pred %p<2>;\n.loc 1 7 0\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\n\
     $L: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra $L;\nret;\n}\n.file 1 \"k.cu\"\n";

#[test]
fn a_launch_stops_when_its_work_is_done_many_times_over() {
    let module = Module::load(COUNT_TO_N).unwrap();
    let kernel = module.kernel("k").unwrap();
    let run = |turns: u32, threads| {
        let launch = Launch {
            grid: [64, 1, 1],
            block: [64, 1, 1],
            dynamic_shared: 0,
            params: vec![turns.bytes()],
        };
        let options = Options { work: 1 << 20, ..Options::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut memory = Memory::default();
        pool.install(|| ptxvm::launch(&module, kernel, &launch, &mut memory, &options)).unwrap()
    };
    for threads in [1, 4] {
        assert_eq!(run(300, threads).findings, []);
        let findings = run(5_000, threads).findings;
        let [Finding { kind: FindingKind::TooMuchWork(found), loc: Some(loc), .. }] = &findings[..]
        else {
            panic!("{findings:?}")
        };
        assert_eq!((found.threads, found.limit, loc.line), (4_096, (1 << 20) + (4_096 << 10), 7));
        assert!((15_000..15_010).contains(&found.for_each), "{found:?}");
    }
}

#[test]
fn each_thread_of_a_padded_block_may_do_the_work_of_an_element() {
    let module = Module::load(COUNT_TO_N).unwrap();
    let kernel = module.kernel("k").unwrap();
    // Three instructions for each of 100,000 terms.
    let run = |blocks, work, element| {
        let launch = Launch {
            grid: [blocks, 1, 1],
            block: [256, 1, 1],
            dynamic_shared: 0,
            params: vec![100_000_u32.bytes()],
        };
        let options = Options { work, budget: 1 << 19, element, ..Options::default() };
        let mut memory = Memory::default();
        let outcome = ptxvm::launch(&module, kernel, &launch, &mut memory, &options).unwrap();
        outcome.findings.first().map(|finding| finding.kind.name())
    };
    let element = |elements, instructions| ElementWork { elements, instructions };
    assert_eq!(run(1, u64::MAX, element(0, 0)), Some("endless-loop"), "eight warps in a block");
    assert_eq!(run(1, 0, element(1, 400_000)), None);
    assert_eq!(run(40, 0, element(40, 400_000)), None);
    assert_eq!(run(40, 0, element(2, 400_000)), Some("too-much-work"), "38 blocks have no element");
}

/// A warp that does nothing but allocate, and counts.
#[test]
fn an_endless_loop_of_allocations_ends_as_soon_as_another_one() {
    let text = ".version 9.0\n.target sm_75\n.address_size 64\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n\
        .visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [to];\nmov.u32 %r1, 0;\n\
        $L:\n{ .param .b64 n; st.param.b64 [n], 16; .param .b64 r; call.uni (r), malloc, (n); ld.param.b64 %rd2, [r]; }\n\
        add.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\nbra $L;\n}\n";
    let mut device = Device::new(text);
    device.options.budget = 1 << 20;
    let to = device.output::<u32>(1);
    let params = vec![device.pointer(to)];
    let outcome = device.launch("k", [1; 3], [1; 3], 0, params);
    assert_eq!(outcome.findings[0].kind.name(), "endless-loop");
    let count = device.read::<u32>(to)[0];
    assert!((1 << 10..1 << 12).contains(&count), "{count}");
}

/// Each thread prints `turns` times; `%.0s` reads a string of 64 bytes, of which nothing is printed.
#[test]
fn output_beyond_the_limit_ends_the_launch() {
    let text = |format: &str| {
        let bytes: Vec<String> = format.bytes().chain([0]).map(|b| b.to_string()).collect();
        format!(
            ".version 9.0\n.target sm_75\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
             .global .align 1 .b8 format[{n}] = {{{bytes}}};\n.global .align 1 .b8 long[65] = {{{long}0}};\n\
             .visible .entry k(.param .u32 n)\n{{\n.local .align 8 .b8 args[8];\n.reg .b32 %r<4>;\n.reg .b64 %rd<6>;\n.reg .pred %p<2>;\n\
             ld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\nmov.u64 %rd1, args;\ncvta.local.u64 %rd2, %rd1;\nmov.u64 %rd3, long;\n\
             cvta.global.u64 %rd4, %rd3;\nst.local.u64 [%rd1], %rd4;\nmov.u64 %rd3, format;\ncvta.global.u64 %rd5, %rd3;\n\
             $L:\n.loc 1 7 0\n{{ .param .b64 a; st.param.b64 [a], %rd5; .param .b64 b; st.param.b64 [b], %rd2; .param .b32 r;\n\
             call.uni (r), vprintf, (a, b); ld.param.b32 %r3, [r]; }}\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra $L;\nret;\n}}\n\
             .file 1 \"k.cu\"\n",
            n = bytes.len(),
            bytes = bytes.join(", "),
            long = "97, ".repeat(64),
        )
    };
    let run = |format: &str, blocks: u32, turns: u32, printed: u64, threads: usize| {
        let module = Module::load(&text(format)).unwrap();
        let kernel = module.kernel("k").unwrap();
        let (grid, block) = ([blocks, 1, 1], [64, 1, 1]);
        let launch = Launch { grid, block, dynamic_shared: 0, params: vec![turns.bytes()] };
        let options = Options { printed, ..Options::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut memory = Memory::default();
        pool.install(|| ptxvm::launch(&module, kernel, &launch, &mut memory, &options)).unwrap()
    };
    for threads in [1, 4] {
        for (format, blocks, turns) in
            [("all is well\n", 1, u32::MAX), ("%.0s", 1, u32::MAX), ("all is well\n", 4_096, 4)]
        {
            let findings = run(format, blocks, turns, 1 << 20, threads).findings;
            let [Finding { kind: FindingKind::TooMuchOutput(found), loc: Some(loc), .. }] =
                &findings[..]
            else {
                panic!("{format:?}: {findings:?}")
            };
            assert_eq!((found.limit, loc.line), (1 << 20, 7));
        }
        // What is kept is less than what is granted.
        let outcome = run("all is well\n", 64, 20, 16 << 20, threads);
        assert_eq!((outcome.findings.len(), outcome.printed.lines().count()), (0, 64 * 64 * 20));
    }
}

#[test]
fn a_sample_of_blocks_shows_that_a_launch_would_take_minutes() {
    // Blocks below `last` count to a million in an inner loop of four.
    let text = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 last)\n{\n\
         .reg .b32 %r<6>;\n.reg .pred %p<4>;\nld.param.u32 %r1, [last];\nmov.u32 %r2, %ctaid.x;\nsetp.ge.u32 %p1, %r2, %r1;\n\
         @%p1 bra $E;\nmov.u32 %r3, 0;\n.loc 1 6 0\n$F: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 2;\n@%p3 bra $F;\n\
         $L: mov.u32 %r4, 0;\n.loc 1 9 0\n$M: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 4;\n@%p2 bra $M;\n\
         .loc 1 8 0\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 1000000;\n@%p3 bra $L;\n$E: ret;\n}\n.file 1 \"k.cu\"\n";
    let module = Module::load(text).unwrap();
    let kernel = module.kernel("k").unwrap();
    let run = |blocks: u32, last: u32, threads, work| {
        let launch = Launch {
            grid: [blocks, 1, 1],
            block: [64, 1, 1],
            dynamic_shared: 0,
            params: vec![last.bytes()],
        };
        let options = Options { work, ..Options::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut memory = Memory::default();
        pool.install(|| ptxvm::launch(&module, kernel, &launch, &mut memory, &options)).unwrap()
    };
    // All host threads start at once, or after the first block.
    for blocks in [2_048, 16_384] {
        let [one, two] = [1, 2].map(|threads| run(blocks, blocks, threads, 1 << 20).findings);
        assert_eq!(one, two);
        let [Finding { kind: FindingKind::TooMuchWork(found), loc: Some(loc), .. }] = &one[..]
        else {
            panic!("{one:?}")
        };
        assert_eq!((found.sampled, loc.line), (8, 8), "the outermost loop that runs");
        assert!(found.for_each < 100_000, "{found:?}");
    }
    // One block may do the work of all.
    assert_eq!(run(4_096, 1, 2, 1 << 31).findings, []);
}
