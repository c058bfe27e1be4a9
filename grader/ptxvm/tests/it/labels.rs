//! Labels of inline assembly.

use crate::support::Device;
use ptxvm::{Kernel, Module};

fn text(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p){{\n\
         .reg .b32 %r<9>;.reg .b64 %rd<9>;.reg .pred q;\nld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\n\
         {body}\nst.global.u32 [%rd1],%r1;\nret;\n}}\n"
    )
}

fn result(body: &str, start: u32) -> u32 {
    let mut device = Device::new(&text(body));
    let data = device.in_out(&[start]);
    let params = vec![device.pointer(data)];
    device.run("k", 1, 1, params);
    device.read(data)[0]
}

#[test]
fn each_pair_of_braces_has_its_own() {
    // As a loop that waits, written twice: each counts down to its own end.
    let wait = |step: u32, end: u32| {
        format!(
            "{{ WAIT: setp.ls.u32 q,%r1,{end};\n@q bra DONE;\nsub.u32 %r1,%r1,{step};\nbra WAIT;\nDONE: }}\n"
        )
    };
    assert_eq!(result(&format!("{}{}", wait(3, 10), wait(1, 4)), 30), 4);
    assert_eq!(result(&wait(7, 10), 30), 9);
    // Out of the braces, past a label of others that is called the same.
    let body =
        "{ bra OUT; add.u32 %r1,%r1,1; } { OUT: add.u32 %r1,%r1,2; } OUT: add.u32 %r1,%r1,4;";
    assert_eq!(result(body, 8), 12);
    // The nearest one counts.
    let body =
        "setp.ge.u32 q,%r1,8;\nOUT: { @q bra OUT; add.u32 %r1,%r1,1; OUT: add.u32 %r1,%r1,2; }";
    assert_eq!(result(body, 8), 10);
}

#[test]
fn those_of_other_braces_are_unknown() {
    for wrong in [
        "bra IN; { IN: add.u32 %r1,%r1,1; }",
        "{ IN: add.u32 %r1,%r1,1; } bra IN;",
        "{ IN: add.u32 %r1,%r1,1; IN: }",
    ] {
        let module = Module::load(&text(wrong)).expect("it loads");
        let refusal = module.kernel("k").and_then(Kernel::refusal).expect("a refusal");
        assert!(refusal.message.contains("label `IN`"), "{wrong}: {refusal}");
    }
}

#[test]
fn a_table_of_labels_is_a_choice() {
    // As LLVM writes a `switch`, with and without a guard; a guard that fails goes on behind the branch.
    let body = |guard: &str| {
        format!(
            "setp.ne.u32 q,%r1,7;\n$L_brx_0: .branchtargets\n A,\n B,\n C;\nand.b32 %r2,%r1,3;\n{guard}brx.idx %r2, $L_brx_0;\n\
             add.u32 %r1,%r1,100; bra END;\nA: add.u32 %r1,%r1,1000; bra END;\nB: mul.lo.u32 %r1,%r1,50; bra END;\n\
             C: mov.u32 %r1,3;\nEND:"
        )
    };
    for guard in ["", "@q "] {
        assert_eq!([4, 5, 6].map(|start| result(&body(guard), start)), [1004, 250, 3], "{guard}");
    }
    assert_eq!(result(&body("@q "), 7), 107);
    assert_eq!(result(&body("@!q "), 7), 3);
    // All lanes meet again behind the choice.
    let text = text(&format!("mov.u32 %r3,%tid.x; add.u32 %r1,%r1,%r3; {}\nbar.sync 0;", body("")));
    let text = text.replace(
        "ld.param.u64 %rd1,[p];",
        "ld.param.u64 %rd1,[p];mov.u32 %r4,%tid.x;mul.wide.u32 %rd2,%r4,4;add.u64 %rd1,%rd1,%rd2;",
    );
    let mut device = Device::new(&text);
    let data = device.in_out(&[0u32; 3]);
    let params = vec![device.pointer(data)];
    device.run("k", 1, 3, params);
    assert_eq!(device.read::<u32>(data), [1000, 50, 3]);
}

#[test]
fn a_table_that_is_not_there_is_refused() {
    let module = Module::load(&text("brx.idx %r1,table;")).expect("it loads");
    let refusal = module.kernel("k").and_then(Kernel::refusal).expect("a refusal");
    assert!(refusal.message.contains("brx.idx"), "{refusal}");
}
