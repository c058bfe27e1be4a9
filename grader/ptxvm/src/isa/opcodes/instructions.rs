//! The table of instructions that are not one lane operation.
//!
//! | column | |
//! |---|---|
//! | class | what it counts as, [`Class`](crate::isa::class::Class), where it does not become lane operations: those have classes of their own |
//! | guard | `Masked`: it runs for the lanes that its guard leaves; `Skipped`: a branch leads the others around it, for it ends lanes or makes them wait |
//! | function | lowers it, in `frontend::lower` |
//! | PTX | how it is written |

/// Calls `$callback!` with the table, and what else stands first.
macro_rules! with_instructions {
    ($callback:ident $($first:tt)*) => {
        $callback! {
            $($first)*
            // Integers.
            Integer Masked carry(Carry { subtract: false, reads: false, writes: true }) = "add.cc.i32|i64";
            Integer Masked carry(Carry { subtract: false, reads: true, writes: false }) = "addc.i32|i64";
            Integer Masked carry(Carry { subtract: false, reads: true, writes: true }) = "addc.cc.i32|i64";
            Integer Masked carry(Carry { subtract: true, reads: false, writes: true }) = "sub.cc.i32|i64";
            Integer Masked carry(Carry { subtract: true, reads: true, writes: false }) = "subc.i32|i64";
            Integer Masked carry(Carry { subtract: true, reads: true, writes: true }) = "subc.cc.i32|i64";
            Integer Masked multiply_add_carry = "mad.lo|hi.cc.i32|i64", "madc.lo|hi{.cc}.i32|i64";
            Integer Masked multiply_high_16 = "mul.hi.u16|s16";
            Integer Masked product_and_sum(R2::MulHiS, R2::AddSatS) = "mad.hi.sat.s32";
            Integer Masked product_and_sum(R2::Mul24U, R2::AddI) = "mad24.lo.u32";
            Integer Masked product_and_sum(R2::Mul24S, R2::AddI) = "mad24.lo.s32";
            Integer Masked product_and_sum(R2::Mul24HiU, R2::AddI) = "mad24.hi.u32";
            Integer Masked product_and_sum(R2::Mul24HiS, R2::AddI) = "mad24.hi.s32";
            Integer Masked product_and_sum(R2::Mul24HiS, R2::AddSatS) = "mad24.hi.sat.s32";
            Integer Masked upper_dot_product(R3::Dp2aUU) = "dp2a.hi.u32.u32";
            Integer Masked upper_dot_product(R3::Dp2aUS) = "dp2a.hi.u32.s32";
            Integer Masked upper_dot_product(R3::Dp2aSU) = "dp2a.hi.s32.u32";
            Integer Masked upper_dot_product(R3::Dp2aSS) = "dp2a.hi.s32.s32";
            Integer Masked extend_from(R3::BfeU) = "szext.wrap|clamp.u32";
            Integer Masked extend_from(R3::BfeS) = "szext.wrap|clamp.s32";
            Integer Masked rectified(R2::MinS, R2::MaxS) = "min.relu.s32";
            Integer Masked rectified(R2::MaxS, R2::MaxS) = "max.relu.s32";
            Integer Masked rectified(R2::MinS16x2, R2::MaxS16x2) = "min.relu.s16x2";
            Integer Masked rectified(R2::MaxS16x2, R2::MaxS16x2) = "max.relu.s16x2";
            Integer Masked lop3_with_predicate(Logic::And) = "lop3.and.b32";
            Integer Masked lop3_with_predicate(Logic::Or) = "lop3.or.b32";
            Compare Masked predicate_logic(Logic::And) = "and.pred";
            Compare Masked predicate_logic(Logic::Or) = "or.pred";
            Compare Masked predicate_logic(Logic::Xor) = "xor.pred";
            Compare Masked predicate_logic(Logic::Not) = "not.pred";
            Compare Masked predicate_logic(Logic::Mov) = "mov.pred";

            // Video.
            Integer Masked video_scalar(Some(PrimaryOperation::Add)) = "vadd..";
            Integer Masked video_scalar(Some(PrimaryOperation::Sub)) = "vsub..";
            Integer Masked video_scalar(Some(PrimaryOperation::AbsDiff)) = "vabsdiff..";
            Integer Masked video_scalar(Some(PrimaryOperation::Min)) = "vmin..";
            Integer Masked video_scalar(Some(PrimaryOperation::Max)) = "vmax..";
            Integer Masked video_scalar(Some(PrimaryOperation::Shl)) = "vshl..";
            Integer Masked video_scalar(Some(PrimaryOperation::Shr)) = "vshr..";
            Integer Masked video_scalar(Some(PrimaryOperation::Mad)) = "vmad..";
            Integer Masked video_scalar(None) = "vset..";
            Integer Masked video_simd(Some(PrimaryOperation::Add)) = "vadd2|vadd4..";
            Integer Masked video_simd(Some(PrimaryOperation::Sub)) = "vsub2|vsub4..";
            Integer Masked video_simd(Some(PrimaryOperation::AbsDiff)) = "vabsdiff2|vabsdiff4..";
            Integer Masked video_simd(Some(PrimaryOperation::Min)) = "vmin2|vmin4..";
            Integer Masked video_simd(Some(PrimaryOperation::Max)) = "vmax2|vmax4..";
            Integer Masked video_simd(Some(PrimaryOperation::Average)) = "vavrg2|vavrg4..";
            Integer Masked video_simd(None) = "vset2|vset4..";

            // Floats.
            Float Masked pair_of_floats = "add|sub|mul|fma{.rn|rz|rm|rp}{.ftz}.f32x2";
            Float Masked extreme = "min|max{.ftz}{.NaN}{.abs}.f32 t t t";
            Float Masked extreme = "min|max{.ftz}{.NaN}.xorsign.abs.f16|f16x2|bf16|bf16x2|f32";

            // Comparisons and choices.
            Compare Masked set_predicate = "setp..";
            Compare Masked set = "set..";
            Move Masked select = "selp..";
            Move Masked select_by_sign = "slct..";

            // Moves and conversions. A move that is no lane operation reads a clock.
            Other Masked mov = "mov.i8|i16|i32|i64|f16|f16x2|bf16|bf16x2|f32|f64";
            Move Masked wide_move = "mov.b128";
            Move Masked special_vector = "mov.v4.u16|u32";
            Convert Masked convert =
                "cvt{.rn|rz|rm|rp}{.rni|rzi|rmi|rpi}{.ftz}{.sat}{.relu}{.satfinite}\
                 .i8|i16|i32|i64|f16|bf16|f32|f64.i8|i16|i32|i64|f16|bf16|f32|f64";
            Convert Masked convert_pair = "cvt{.rn|rz|rm|rp}{.ftz}{.relu}{.satfinite}.f16x2|bf16x2.f32";
            Convert Masked convert_to_tf32 = "cvt.rna|rn|rz{.relu}{.satfinite}.tf32.f32";
            Convert Masked convert_bytes = "cvt{.rn}{.satfinite}{.relu}.e4m3x2|e5m2x2.f16x2|f32";
            Convert Masked pack_saturated = "cvt.pack..";
            Integer Masked convert_address = "cvta..";
            Compare Masked is_space = "isspacep..";

            // Memory.
            Load Masked access(Access::Load) = "ld..", "ldu..";
            Store Masked access(Access::Store) = "st..";
            Atomic Masked access(Access::Atomic) = "atom..";
            Atomic Masked access(Access::Reduction) = "red..";
            Load Masked copy_async = "cp.async.ca|cg..";
            Other Masked commit_copies = "cp.async.commit_group";
            Other Masked wait_for_copies = "cp.async.wait_group";
            Other Masked wait_for_all_copies = "cp.async.wait_all";
            Integer Masked map_address = "mapa{.shared::cluster}.u32|u64";
            Integer Masked rank_of_address = "getctarank{.shared::cluster}.u32|u64";
            Other Masked fence = "membar..", "fence..";
            Move Masked create_policy = "createpolicy..";
            Other Masked hint = "prefetch..", "prefetchu..", "discard..", "applypriority..";

            // Textures and surfaces.
            Load Masked fetch = "tex..", "tld4..";
            Load Masked surface(SurfaceUse::Load) = "suld.b..";
            Store Masked surface(SurfaceUse::Store) = "sust.b..";
            Store Masked surface(SurfaceUse::StoreFormatted) = "sust.p..";
            Atomic Masked surface(SurfaceUse::Reduce) = "sured.b..";
            Other Masked query = "txq..", "suq..";

            // Barrier objects.
            Barrier Masked mbarrier_init = "mbarrier.init..";
            Barrier Masked mbarrier_invalidate = "mbarrier.inval..";
            Barrier Masked mbarrier_expect = "mbarrier.expect_tx..";
            Barrier Masked mbarrier_complete = "mbarrier.complete_tx..";
            Barrier Masked mbarrier_arrive(false) = "mbarrier.arrive..";
            Barrier Masked mbarrier_arrive(true) = "mbarrier.arrive_drop..";
            Barrier Masked mbarrier_test = "mbarrier.test_wait..", "mbarrier.try_wait..";
            Integer Masked mbarrier_pending_count = "mbarrier.pending_count.b64";
            Barrier Masked mbarrier_copies_arrive = "cp.async.mbarrier.arrive..";
            Barrier Masked bulk_copy = "cp.async.bulk..";
            Atomic Masked bulk_reduction = "cp.reduce.async..";
            Store Masked replace_in_map = "tensormap.replace..";
            Store Masked copy_map = "tensormap.cp_fenceproxy..";

            // Control.
            Move Masked save_stack = "stacksave.u64";
            Move Masked restore_stack = "stackrestore.u64";
            Move Skipped grow_stack = "alloca.u64";
            Control Masked branch = "bra{.uni}";
            Control Skipped call = "call{.uni}";
            Control Skipped end_function = "ret{.uni}";
            Control Skipped operation(Op::Exit) = "exit";
            Control Skipped trap = "trap";
            // No debugger waits for it.
            Control Skipped operation(Op::Trap) = "brkpt";
            Barrier Skipped barrier = "bar..", "barrier..";
            // A launch begins when those before it have ended, and what they wrote is there.
            Other Masked operation(Op::Nop) = "griddepcontrol.wait|launch_dependents";
            Other Masked operation(Op::Nop) = "nanosleep.u32", "pmevent{.mask}";

            // Warps.
            Warp Masked active_mask = "activemask.b32";
            Warp Masked elect = "elect.sync";
            Warp Masked shuffle(Shuffle::Up) = "shfl.sync.up.b32";
            Warp Masked shuffle(Shuffle::Down) = "shfl.sync.down.b32";
            Warp Masked shuffle(Shuffle::Bfly) = "shfl.sync.bfly.b32";
            Warp Masked shuffle(Shuffle::Idx) = "shfl.sync.idx.b32";
            Warp Masked vote(Vote::All) = "vote.sync.all.pred";
            Warp Masked vote(Vote::Any) = "vote.sync.any.pred";
            Warp Masked vote(Vote::Uni) = "vote.sync.uni.pred";
            Warp Masked ballot = "vote.sync.ballot.b32";
            Warp Masked match_any = "match.any.sync.b32|b64";
            Warp Masked match_all = "match.all.sync.b32|b64";
            Warp Masked reduce(Redux::Add) = "redux.sync.add.u32|s32";
            Warp Masked reduce(Redux::MinU) = "redux.sync.min.u32";
            Warp Masked reduce(Redux::MinS) = "redux.sync.min.s32";
            Warp Masked reduce(Redux::MaxU) = "redux.sync.max.u32";
            Warp Masked reduce(Redux::MaxS) = "redux.sync.max.s32";
            Warp Masked reduce(Redux::And) = "redux.sync.and.b32";
            Warp Masked reduce(Redux::Or) = "redux.sync.or.b32";
            Warp Masked reduce(Redux::Xor) = "redux.sync.xor.b32";

            // Matrices.
            Load Masked load_tile = "wmma.load..";
            Store Masked store_tile = "wmma.store..";
            Matrix Masked product(Layout::Wmma) = "wmma.mma..";
            Matrix Masked product(Layout::Mma) = "mma..";
            Load Masked load_rows = "ldmatrix..";
            Store Masked store_rows = "stmatrix..";
            Warp Masked transpose = "movmatrix..";
            Matrix Masked group_product = "wgmma.mma_async..";
            // Registers and shared memory are in order here.
            Other Masked operation(Op::Nop) = "wgmma.fence.sync.aligned";
            Other Masked operation(Op::EndProducts) = "wgmma.commit_group.sync.aligned";
            Other Masked wait_for_products = "wgmma.wait_group.sync.aligned";
            Other Masked operation(Op::Nop) = "setmaxnreg.inc|dec.sync.aligned.u32";
        }
    };
}
pub(crate) use with_instructions;
