//! What it costs to wait: threads that poll do not run while what they poll is unchanged.

use crate::support::Device;

/// `chain`: each block waits for a flag of the next one, so the last block begins, and all others are resident by then. `turns`: two
/// warps take turns, 64 times each, and count how often they look, so their registers never return to what they were. `timed`: each
/// warp waits for the flag of the next one, and reads a clock each time around, as a wait with a time limit does.
const PTX: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry chain(.param .u64 flags)
{
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [flags];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    add.s32 %r3, %r1, 1;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    setp.eq.u32 %p1, %r3, %r2;
    @%p1 bra SET;
WAIT:
    ld.volatile.global.u32 %r4, [%rd3+4];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra WAIT;
SET:
    st.volatile.global.u32 [%rd3], 1;
    ret;
}
.visible .entry turns(.param .u64 turn)
{
    .reg .pred %p<3>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [turn];
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    mov.u32 %r3, 0;
    mov.u32 %r6, 0;
NEXT:
    ld.volatile.global.u32 %r4, [%rd1];
    add.s32 %r6, %r6, 1;
    setp.ne.u32 %p1, %r4, %r2;
    @%p1 bra NEXT;
    bar.warp.sync 0xffffffff;
    add.s32 %r5, %r2, 1;
    st.volatile.global.u32 [%rd1], %r5;
    add.s32 %r2, %r2, 2;
    add.s32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 64;
    @%p2 bra NEXT;
    ret;
}
.visible .entry timed(.param .u64 flags)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [flags];
    mov.u32 %r1, %tid.x;
    shr.u32 %r1, %r1, 5;
    mov.u32 %r2, %ntid.x;
    shr.u32 %r2, %r2, 5;
    add.s32 %r3, %r1, 1;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    setp.eq.u32 %p1, %r3, %r2;
    @%p1 bra SET;
WAIT:
    mov.u64 %rd4, %globaltimer;
    ld.volatile.global.u32 %r4, [%rd3+4];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra WAIT;
SET:
    st.volatile.global.u32 [%rd3], 1;
    ret;
}";

/// Instructions, counted for each lane, of a launch with some words, the last of which is `last` in the end.
fn lane_instructions(kernel: &str, words: usize, blocks: u32, threads: u32, last: u32) -> u64 {
    let mut device = Device::new(PTX);
    let words = device.in_out(&vec![0u32; words]);
    let params = vec![device.pointer(words)];
    let outcome = device.run(kernel, blocks, threads, params);
    assert_eq!(device.read::<u32>(words).last(), Some(&last), "{kernel}");
    outcome.lane_instructions
}

#[test]
fn blocks_that_wait_for_each_other_cost_no_more_than_their_number() {
    let few = lane_instructions("chain", 64, 64, 32, 1);
    let many = lane_instructions("chain", 256, 256, 32, 1);
    // It was 14 times as many, while every block that waited ran in every round.
    assert!(many < 6 * few, "{few}, {many}");
}

#[test]
fn warps_that_wait_again_at_the_same_word_are_known_soon() {
    // The word changes 128 times. It was 166,000 instructions each while the warps had to be found out anew as waiting.
    let all = lane_instructions("turns", 1, 1, 64, 128);
    assert!(all / 128 < 8 * 1024, "{all}");
}

#[test]
fn warps_that_read_a_clock_while_they_wait_are_known_soon() {
    // It was 8,000 instructions for each of the 31 that wait.
    let all = lane_instructions("timed", 32, 1, 1024, 1);
    assert!(all / 1024 < 1024, "{all}");
}
