//! The table of lane operations: instructions that compute each lane of a register from the same lane of others.
//!
//! Each block is one register signature, named by the register files of the destination and the sources: `R` for `Reg32` (registers of
//! up to 32 bits), `Q` for `Reg64`, `P` for `Pred`. `R2` has two sources of the destination's file. A row gives
//!
//! | column | |
//! |---|---|
//! | name | of the decoded operation |
//! | class | what it counts as, [`Class`](crate::isa::class::Class) |
//! | provenance | how the expression of its result follows from those of its sources, `Rule` |
//! | speed | `fast` operations compute all 32 lanes and blend, so that the compiler can vectorise them; `slow` ones visit the active lanes one by one; `rare` ones do so too, and are compiled for the baseline instruction set alone |
//! | function | what it computes for one lane, in `isa::ops` |
//! | PTX | behind `=`, the instructions that are this operation; operations without are steps of other instructions |

/// Calls `$callback!` with the table, and what else stands first.
macro_rules! with_lane_operations {
    ($callback:ident $($first:tt)*) => {
        $callback! {
            $($first)*
            /// Operations that compute a `Reg32` from a `Reg32`.
            R1(r1: Reg32, Reg32) {
                Mov           Move    Copy              fast w32::mov;
                Not           Integer Opaque            fast w32::not                    = "not.i16|i32";
                Cnot          Integer Opaque            fast w32::cnot                   = "cnot.i16|i32";
                NegI          Integer Opaque            fast w32::neg                    = "neg.i16|i32";
                AbsI          Integer Opaque            fast w32::abs                    = "abs.i16|i32";
                Brev          Integer Opaque            fast w32::brev                   = "brev.i32";
                Popc          Integer Opaque            fast w32::popc                   = "popc.i32";
                Clz           Integer Opaque            slow w32::clz                    = "clz.i32";
                BfindU        Integer Opaque            rare w32::bfind_u                = "bfind.u32";
                BfindS        Integer Opaque            rare w32::bfind_s                = "bfind.s32";
                BfindShiftU   Integer Opaque            rare w32::bfind_shift_u          = "bfind.shiftamt.u32";
                BfindShiftS   Integer Opaque            rare w32::bfind_shift_s          = "bfind.shiftamt.s32";
                Sext8         Integer Opaque            fast int::sext8;
                Sext16        Integer Opaque            fast int::sext16;
                Zext8         Integer Opaque            fast int::zext8;
                Zext16        Integer Narrow            fast int::zext16;
                High16        Integer Opaque            fast int::high16;
                NegF          Float   Neg               fast f32s::neg                   = "neg{.ftz}.f32";
                AbsF          Float   Abs               fast f32s::abs                   = "abs{.ftz}.f32";
                RcpF          Float   Reciprocal        fast f32s::rcp                   = "rcp{.rn}{.ftz}.f32";
                SqrtF         Float   Function("sqrt")  fast f32s::sqrt                  = "sqrt{.rn}{.ftz}.f32";
                RcpRz         Float   Reciprocal        rare zero::rcp_f32               = "rcp.rz{.ftz}.f32";
                RcpRm         Float   Reciprocal        rare down::rcp_f32               = "rcp.rm.f32";
                RcpRp         Float   Reciprocal        rare up::rcp_f32                 = "rcp.rp.f32";
                RcpFtzRm      Float   Reciprocal        rare flush::down::rcp_f32        = "rcp.rm.ftz.f32";
                RcpFtzRp      Float   Reciprocal        rare flush::up::rcp_f32          = "rcp.rp.ftz.f32";
                SqrtRz        Float   Function("sqrt")  rare zero::sqrt_f32              = "sqrt.rz{.ftz}.f32";
                SqrtRm        Float   Function("sqrt")  rare down::sqrt_f32              = "sqrt.rm{.ftz}.f32";
                SqrtRp        Float   Function("sqrt")  rare up::sqrt_f32                = "sqrt.rp{.ftz}.f32";
                FlushF        Float   Copy              fast f32s::flush;
                SatF          Float   Saturate          fast f32s::saturate;
                RoundF        Float   Function("round") slow f32s::round_even;
                TruncF        Float   Function("trunc") slow f32s::trunc;
                FloorF        Float   Function("floor") slow f32s::floor;
                CeilF         Float   Function("ceil")  slow f32s::ceil;
                RcpApprox     Float   Reciprocal        slow approx::rcp                 = "rcp.approx.f32";
                RcpApproxFtz  Float   Reciprocal        slow sfu::rcp                    = "rcp.approx.ftz.f32";
                SqrtApprox    Float   Function("sqrt")  slow approx::sqrt                = "sqrt.approx.f32";
                SqrtApproxFtz Float   Function("sqrt")  slow sfu::sqrt                   = "sqrt.approx.ftz.f32";
                Ex2           Special Function("exp2")  slow approx::ex2                 = "ex2{.approx}.f32";
                Ex2Ftz        Special Function("exp2")  slow sfu::ex2                    = "ex2{.approx}.ftz.f32";
                Lg2           Special Function("log2")  slow approx::lg2                 = "lg2{.approx}.f32";
                Lg2Ftz        Special Function("log2")  slow sfu::lg2                    = "lg2{.approx}.ftz.f32";
                Sin           Special Function("sin")   slow approx::sin                 = "sin{.approx}{.ftz}.f32";
                Cos           Special Function("cos")   slow approx::cos                 = "cos{.approx}{.ftz}.f32";
                Tanh          Special Function("tanh")  slow sfu::tanh                   = "tanh{.approx}.f32";
                Rsqrt         Special Function("rsqrt") slow approx::rsqrt               = "rsqrt{.approx}.f32";
                RsqrtFtz      Special Function("rsqrt") slow sfu::rsqrt                  = "rsqrt{.approx}.ftz.f32";
                NegF16        Half    Half("f16", Half::Neg)  fast f16::neg              = "neg{.ftz}.f16";
                NegBf16       Half    Half("bf16", Half::Neg) fast bf16::neg             = "neg{.ftz}.bf16";
                AbsF16        Half    Opaque            fast f16::abs                    = "abs{.ftz}.f16";
                AbsBf16       Half    Opaque            fast bf16::abs                   = "abs{.ftz}.bf16";
                NegF16x2      Half    Opaque            fast f16::neg2                   = "neg{.ftz}.f16x2";
                NegBf16x2     Half    Opaque            fast bf16::neg2                  = "neg{.ftz}.bf16x2";
                AbsF16x2      Half    Opaque            fast f16::abs2                   = "abs{.ftz}.f16x2";
                AbsBf16x2     Half    Opaque            fast bf16::abs2                  = "abs{.ftz}.bf16x2";
                SatF16        Half    Opaque            slow f16::saturate;
                SatBf16       Half    Opaque            slow bf16::saturate;
                SatF16x2      Half    Opaque            slow f16::saturate2;
                SatBf16x2     Half    Opaque            slow bf16::saturate2;
                ReluF16       Half    Opaque            slow f16::relu;
                ReluBf16      Half    Opaque            slow bf16::relu;
                ReluF16x2     Half    Opaque            slow f16::relu2;
                ReluBf16x2    Half    Opaque            slow bf16::relu2;
                FlushF16      Half    Opaque            slow f16::flush;
                FlushF16x2    Half    Opaque            slow f16::flush2;
                FlushBf16     Half    Opaque            slow bf16::flush;
                FlushBf16x2   Half    Opaque            slow bf16::flush2;
                Ex2F16        Half    Opaque            rare f16::ex2                    = "ex2{.approx}{.ftz}.f16";
                Ex2Bf16       Half    Opaque            rare bf16::ex2                   = "ex2{.approx}{.ftz}.bf16";
                Ex2F16x2      Half    Opaque            rare f16::ex2_2                  = "ex2{.approx}{.ftz}.f16x2";
                Ex2Bf16x2     Half    Opaque            rare bf16::ex2_2                 = "ex2{.approx}{.ftz}.bf16x2";
                TanhF16       Half    Opaque            rare f16::tanh                   = "tanh{.approx}.f16";
                TanhBf16      Half    Opaque            rare bf16::tanh                  = "tanh{.approx}.bf16";
                TanhF16x2     Half    Opaque            rare f16::tanh_2                 = "tanh{.approx}.f16x2";
                TanhBf16x2    Half    Opaque            rare bf16::tanh_2                = "tanh{.approx}.bf16x2";
                RoundF16      Half    Opaque            rare half::round_even;
                TruncF16      Half    Opaque            rare half::trunc;
                FloorF16      Half    Opaque            rare half::floor;
                CeilF16       Half    Opaque            rare half::ceil;
                F32FromU32    Convert FromInteger       fast cvt::f32_from_u32;
                F32FromS32    Convert FromInteger       fast cvt::f32_from_s32;
                U32FromF32    Convert ToInteger         fast cvt::u32_from_f32;
                S32FromF32    Convert ToInteger         fast cvt::s32_from_f32;
                F32FromF16    Convert Widen("f16")      slow cvt::f32_from_f16;
                F32FromBf16   Convert Widen("bf16")     fast cvt::f32_from_bf16;
                F16FromF32    Convert Function("f16")   slow cvt::nearest::f16_from_f32;
                F16FromF32Rz  Convert Opaque            rare cvt::zero::f16_from_f32;
                F16FromF32Rm  Convert Opaque            rare cvt::down::f16_from_f32;
                F16FromF32Rp  Convert Opaque            rare cvt::up::f16_from_f32;
                Bf16FromF32   Convert Function("bf16")  slow cvt::nearest::bf16_from_f32;
                Bf16FromF32Rz Convert Opaque            rare cvt::zero::bf16_from_f32;
                Bf16FromF32Rm Convert Opaque            rare cvt::down::bf16_from_f32;
                Bf16FromF32Rp Convert Opaque            rare cvt::up::bf16_from_f32;
                Tf32Even      Convert Function("tf32")  rare narrow::tf32_even;
                Tf32Away      Convert Function("tf32")  rare narrow::tf32_away;
                Tf32Zero      Convert Function("tf32")  rare narrow::tf32_zero;
                Tf32Finite    Convert Opaque            rare narrow::tf32_finite;
                ReluF         Convert Opaque            rare narrow::relu_f32;
                FiniteF16     Convert Opaque            rare narrow::f16_finite;
                FiniteBf16    Convert Opaque            rare narrow::bf16_finite;
                E4m3FromF32   Convert Opaque            rare narrow::e4m3_from_f32;
                E5m2FromF32   Convert Opaque            rare narrow::e5m2_from_f32;
                F16FromE4m3   Convert Opaque            rare narrow::f16_from_e4m3;
                F16FromE5m2   Convert Opaque            rare narrow::f16_from_e5m2;
            }
            /// Operations that compute a `Reg32` from two `Reg32`.
            R2(r2: Reg32, Reg32, Reg32) {
                AddI         Integer IntegerAdd              fast w32::add             = "add.i16|i32";
                SubI         Integer IntegerSub              fast w32::sub             = "sub.i16|i32";
                MulLo        Integer IntegerMul              fast w32::mul_lo          = "mul.lo.i16|i32", "mul.wide.i16";
                MulHiU       Integer Opaque                  fast w32::mul_hi_u        = "mul.hi.u32";
                MulHiS       Integer Opaque                  fast w32::mul_hi_s        = "mul.hi.s32";
                DivU         Integer Opaque                  slow w32::div_u           = "div.u16|u32";
                DivS         Integer Opaque                  slow w32::div_s           = "div.s16|s32";
                RemU         Integer Opaque                  slow w32::rem_u           = "rem.u16|u32";
                RemS         Integer Opaque                  slow w32::rem_s           = "rem.s16|s32";
                MinU         Integer Opaque                  fast w32::min_u           = "min.u16|u32";
                MinS         Integer Opaque                  fast w32::min_s           = "min.s16|s32";
                MaxU         Integer Opaque                  fast w32::max_u           = "max.u16|u32";
                MaxS         Integer Opaque                  fast w32::max_s           = "max.s16|s32";
                And          Integer Opaque                  fast w32::and             = "and.i16|i32";
                Or           Integer Opaque                  fast w32::or              = "or.i16|i32";
                Xor          Integer Opaque                  fast w32::xor             = "xor.i16|i32";
                Shl          Integer Opaque                  fast w32::shl             = "shl.i16|i32 t u32";
                ShrU         Integer Opaque                  fast w32::shr_u           = "shr.b16|u16|b32|u32 t u32";
                ShrS         Integer Opaque                  fast w32::shr_s           = "shr.s16|s32 t u32";
                AddSatS      Integer Opaque                  fast int::add_sat_s       = "add.sat.s32";
                SubSatS      Integer Opaque                  fast int::sub_sat_s       = "sub.sat.s32";
                Mul24U       Integer Opaque                  fast int::mul24_lo_u      = "mul24.lo.u32";
                Mul24S       Integer Opaque                  fast int::mul24_lo_s      = "mul24.lo.s32";
                Mul24HiU     Integer Opaque                  fast int::mul24_hi_u      = "mul24.hi.u32";
                Mul24HiS     Integer Opaque                  fast int::mul24_hi_s      = "mul24.hi.s32";
                Add16x2      Integer Opaque                  fast int::add_16x2        = "add.s16x2|u16x2 b32 b32";
                MinU16x2     Integer Opaque                  fast int::min_u16x2       = "min.u16x2 b32 b32";
                MaxU16x2     Integer Opaque                  fast int::max_u16x2       = "max.u16x2 b32 b32";
                MinS16x2     Integer Opaque                  fast int::min_s16x2       = "min.s16x2 b32 b32";
                MaxS16x2     Integer Opaque                  fast int::max_s16x2       = "max.s16x2 b32 b32";
                BmskClamp    Integer Opaque                  rare int::bmsk_clamp      = "bmsk{.clamp}.i32";
                BmskWrap     Integer Opaque                  rare int::bmsk_wrap       = "bmsk.wrap.i32";
                Pack32       Integer Opaque                  fast int::pack32;
                AddF         Float   Add                     fast f32s::add            = "add{.rn}{.ftz}{.sat}.f32";
                SubF         Float   Sub                     fast f32s::sub            = "sub{.rn}{.ftz}{.sat}.f32";
                MulF         Float   Mul                     fast f32s::mul            = "mul{.rn}{.sat}.f32";
                DivF         Float   Div                     fast f32s::div            = "div{.rn}{.ftz}.f32";
                DivApprox    Float   Div                     slow approx::div            = "div.approx.f32";
                DivApproxFtz Float   Div                     slow approx::div_ftz        = "div.approx.ftz.f32";
                DivFull      Float   Div                     slow approx::div_full       = "div.full.f32";
                DivFullFtz   Float   Div                     slow approx::div_full_ftz   = "div.full.ftz.f32";
                AddRz        Float   Add                     rare zero::add_f32        = "add.rz{.ftz}{.sat}.f32", "sub.rz{.ftz}{.sat}.f32 t -t";
                AddRm        Float   Add                     rare down::add_f32        = "add.rm{.ftz}{.sat}.f32", "sub.rm{.ftz}{.sat}.f32 t -t";
                AddRp        Float   Add                     rare up::add_f32          = "add.rp{.ftz}{.sat}.f32", "sub.rp{.ftz}{.sat}.f32 t -t";
                MulRz        Float   Mul                     rare zero::mul_f32        = "mul.rz{.ftz}{.sat}.f32";
                MulRm        Float   Mul                     rare down::mul_f32        = "mul.rm{.sat}.f32";
                MulRp        Float   Mul                     rare up::mul_f32          = "mul.rp{.sat}.f32";
                DivRz        Float   Div                     rare zero::div_f32        = "div.rz{.ftz}.f32";
                DivRm        Float   Div                     rare down::div_f32        = "div.rm.f32";
                DivRp        Float   Div                     rare up::div_f32          = "div.rp.f32";
                MulFtz       Float   Mul                     fast flush::mul_f32       = "mul{.rn}.ftz{.sat}.f32";
                MulFtzRm     Float   Mul                     rare flush::down::mul_f32 = "mul.rm.ftz{.sat}.f32";
                MulFtzRp     Float   Mul                     rare flush::up::mul_f32   = "mul.rp.ftz{.sat}.f32";
                DivFtzRm     Float   Div                     rare flush::down::div_f32 = "div.rm.ftz.f32";
                DivFtzRp     Float   Div                     rare flush::up::div_f32   = "div.rp.ftz.f32";
                MulFtzF16    Half    Opaque                  slow flush::mul_f16       = "mul{.rn}.ftz{.sat}.f16";
                MulFtzF16x2  Half    Opaque                  slow flush::mul_f16x2     = "mul{.rn}.ftz{.sat}.f16x2";
                MinF         Float   Extreme(false)          fast f32s::min            = "min{.ftz}.f32";
                MaxF         Float   Extreme(true)           fast f32s::max            = "max{.ftz}.f32";
                MinNanF      Float   Extreme(false)          fast f32s::min_nan        = "min{.ftz}.NaN.f32";
                MaxNanF      Float   Extreme(true)           fast f32s::max_nan        = "max{.ftz}.NaN.f32";
                CopysignF    Float   Opaque                  fast f32s::copysign       = "copysign.f32";
                AddF16       Half    Half("f16", Half::Add)  slow f16::add             = "add{.rn}{.ftz}{.sat}.f16";
                SubF16       Half    Half("f16", Half::Sub)  slow f16::sub             = "sub{.rn}{.ftz}{.sat}.f16";
                MulF16       Half    Half("f16", Half::Mul)  slow f16::mul             = "mul{.rn}{.sat}.f16";
                MinF16       Half    Opaque                  slow f16::min             = "min{.ftz}.f16";
                MaxF16       Half    Opaque                  slow f16::max             = "max{.ftz}.f16";
                MinNanF16    Half    Opaque                  slow f16::min_nan         = "min{.ftz}.NaN.f16";
                MaxNanF16    Half    Opaque                  slow f16::max_nan         = "max{.ftz}.NaN.f16";
                AddBf16      Half    Half("bf16", Half::Add) slow bf16::add            = "add{.rn}.bf16";
                SubBf16      Half    Half("bf16", Half::Sub) slow bf16::sub            = "sub{.rn}.bf16";
                MulBf16      Half    Half("bf16", Half::Mul) slow bf16::mul            = "mul{.rn}.bf16";
                MinBf16      Half    Opaque                  slow bf16::min            = "min.bf16";
                MaxBf16      Half    Opaque                  slow bf16::max            = "max.bf16";
                MinNanBf16   Half    Opaque                  slow bf16::min_nan        = "min.NaN.bf16";
                MaxNanBf16   Half    Opaque                  slow bf16::max_nan        = "max.NaN.bf16";
                AddF16x2     Half    Opaque                  slow f16::add2            = "add{.rn}{.ftz}{.sat}.f16x2";
                SubF16x2     Half    Opaque                  slow f16::sub2            = "sub{.rn}{.ftz}{.sat}.f16x2";
                MulF16x2     Half    Opaque                  slow f16::mul2            = "mul{.rn}{.sat}.f16x2";
                MinF16x2     Half    Opaque                  slow f16::min2            = "min{.ftz}.f16x2";
                MaxF16x2     Half    Opaque                  slow f16::max2            = "max{.ftz}.f16x2";
                MinNanF16x2  Half    Opaque                  slow f16::min_nan2        = "min{.ftz}.NaN.f16x2";
                MaxNanF16x2  Half    Opaque                  slow f16::max_nan2        = "max{.ftz}.NaN.f16x2";
                AddBf16x2    Half    Opaque                  slow bf16::add2           = "add{.rn}.bf16x2";
                SubBf16x2    Half    Opaque                  slow bf16::sub2           = "sub{.rn}.bf16x2";
                MulBf16x2    Half    Opaque                  slow bf16::mul2           = "mul{.rn}.bf16x2";
                MinBf16x2    Half    Opaque                  slow bf16::min2           = "min.bf16x2";
                MaxBf16x2    Half    Opaque                  slow bf16::max2           = "max.bf16x2";
                MinNanBf16x2 Half    Opaque                  slow bf16::min_nan2       = "min.NaN.bf16x2";
                MaxNanBf16x2 Half    Opaque                  slow bf16::max_nan2       = "max.NaN.bf16x2";
            }
            /// Operations that compute a `Reg32` from three `Reg32`.
            R3(r3: Reg32, Reg32, Reg32, Reg32) {
                MadLo       Integer IntegerMad              fast w32::mad_lo          = "mad.lo.i16 t t u16", "mad.lo.i32", "mad.wide.i16 t t b32";
                MadHiU      Integer Opaque                  fast w32::mad_hi_u        = "mad.hi.u32";
                MadHiS      Integer Opaque                  fast w32::mad_hi_s        = "mad.hi.s32";
                MadHi16     Integer Opaque                  fast int::mad_hi_16       = "mad.hi.u16", "mad.hi.s16 t t u16";
                SadU        Integer Opaque                  fast w32::sad_u           = "sad.u16|u32";
                SadS        Integer Opaque                  fast w32::sad_s           = "sad.s16 t t u16", "sad.s32";
                BfeU        Integer Opaque                  slow w32::bfe_u           = "bfe.u32";
                BfeS        Integer Opaque                  slow w32::bfe_s           = "bfe.s32";
                Prmt        Integer Opaque                  slow int::prmt            = "prmt.i32";
                PrmtF4e     Integer Opaque                  rare int::prmt_f4e        = "prmt.i32.f4e";
                PrmtB4e     Integer Opaque                  rare int::prmt_b4e        = "prmt.i32.b4e";
                PrmtRc8     Integer Opaque                  rare int::prmt_rc8        = "prmt.i32.rc8";
                PrmtEcl     Integer Opaque                  rare int::prmt_ecl        = "prmt.i32.ecl";
                PrmtEcr     Integer Opaque                  rare int::prmt_ecr        = "prmt.i32.ecr";
                PrmtRc16    Integer Opaque                  rare int::prmt_rc16       = "prmt.i32.rc16";
                FindNthSet  Integer Opaque                  rare int::find_nth_set    = "fns.i32";
                ShfLWrap    Integer Opaque                  fast int::shf_l_wrap      = "shf.l.wrap.i32";
                ShfLClamp   Integer Opaque                  fast int::shf_l_clamp     = "shf.l.clamp.i32";
                ShfRWrap    Integer Opaque                  fast int::shf_r_wrap      = "shf.r.wrap.i32";
                ShfRClamp   Integer Opaque                  fast int::shf_r_clamp     = "shf.r.clamp.i32";
                Dp4aUU      Integer Opaque                  slow int::dp4a_uu         = "dp4a.u32.u32";
                Dp4aUS      Integer Opaque                  slow int::dp4a_us         = "dp4a.u32.s32";
                Dp4aSU      Integer Opaque                  slow int::dp4a_su         = "dp4a.s32.u32";
                Dp4aSS      Integer Opaque                  slow int::dp4a_ss         = "dp4a.s32.s32";
                Dp2aUU      Integer Opaque                  rare int::dp2a_uu         = "dp2a.lo.u32.u32";
                Dp2aUS      Integer Opaque                  rare int::dp2a_us         = "dp2a.lo.u32.s32";
                Dp2aSU      Integer Opaque                  rare int::dp2a_su         = "dp2a.lo.s32.u32";
                Dp2aSS      Integer Opaque                  rare int::dp2a_ss         = "dp2a.lo.s32.s32";
                FmaF        Float   Fma                     fast f32s::fma            = "fma|mad{.rn}{.sat}.f32", "mul-sub{.sat}.f32 t t -t", "sub-mul{.sat}.f32 -t t t", "neg-mul-sub{.sat}.f32 -t t -t";
                FmaRz       Float   Fma                     rare zero::fma_f32        = "fma|mad.rz{.ftz}{.sat}.f32";
                FmaRm       Float   Fma                     rare down::fma_f32        = "fma|mad.rm{.sat}.f32";
                FmaRp       Float   Fma                     rare up::fma_f32          = "fma|mad.rp{.sat}.f32";
                FmaFtz      Float   Fma                     fast flush::fma_f32       = "fma|mad{.rn}.ftz{.sat}.f32", "mul-sub.ftz{.sat}.f32 t t -t", "sub-mul.ftz{.sat}.f32 -t t t", "neg-mul-sub.ftz{.sat}.f32 -t t -t";
                FmaFtzRm    Float   Fma                     rare flush::down::fma_f32 = "fma|mad.rm.ftz{.sat}.f32";
                FmaFtzRp    Float   Fma                     rare flush::up::fma_f32   = "fma|mad.rp.ftz{.sat}.f32";
                FmaFtzF16   Half    Opaque                  slow flush::fma_f16       = "fma{.rn}.ftz{.sat|relu}.f16", "mul-sub.ftz{.sat}.f16 t t -t", "sub-mul.ftz{.sat}.f16 -t t t";
                FmaFtzF16x2 Half    Opaque                  slow flush::fma_f16x2     = "fma{.rn}.ftz{.sat|relu}.f16x2", "mul-sub.ftz{.sat}.f16x2 t t -t", "sub-mul.ftz{.sat}.f16x2 -t t t";
                FmaF16      Half    Half("f16", Half::Fma)  slow f16::fma             = "fma{.rn}{.sat|relu}.f16", "mul-sub{.sat}.f16 t t -t", "sub-mul{.sat}.f16 -t t t";
                FmaF16x2    Half    Opaque                  slow f16::fma2            = "fma{.rn}{.sat|relu}.f16x2", "mul-sub{.sat}.f16x2 t t -t", "sub-mul{.sat}.f16x2 -t t t";
                FmaBf16     Half    Half("bf16", Half::Fma) slow bf16::fma            = "fma{.rn}{.relu}.bf16", "mul-sub.bf16 t t -t", "sub-mul.bf16 -t t t";
                FmaBf16x2   Half    Opaque                  slow bf16::fma2           = "fma{.rn}{.relu}.bf16x2", "mul-sub.bf16x2 t t -t", "sub-mul.bf16x2 -t t t";
            }
            /// Operations that compute a `Reg32` from four `Reg32`.
            R4(r4: Reg32, Reg32, Reg32, Reg32, Reg32) {
                Bfi       Integer Opaque slow w32::bfi      = "bfi.i32";
                Lop3      Integer Opaque slow int::lop3     = "lop3.i32";
                Video     Integer Opaque rare video::scalar;
                VideoSimd Integer Opaque rare video::simd;
            }
            /// Operations that compute a `Reg64` from a `Reg64`.
            Q1(q1: Reg64, Reg64) {
                Mov          Move    Copy              fast w64::mov;
                Not          Integer Opaque            fast w64::not                   = "not.i64";
                Cnot         Integer Opaque            fast w64::cnot                  = "cnot.i64";
                NegI         Integer Opaque            fast w64::neg                   = "neg.i64";
                AbsI         Integer Opaque            fast w64::abs                   = "abs.i64";
                Brev         Integer Opaque            fast w64::brev                  = "brev.i64";
                NegF         Double  Neg               fast f64s::neg                  = "neg.f64";
                AbsF         Double  Abs               fast f64s::abs                  = "abs.f64";
                RcpF         Double  Reciprocal        fast f64s::rcp                  = "rcp{.rn}{.ftz}.f64";
                RcpApprox    Double  Reciprocal        rare approx::rcp_f64            = "rcp.approx.ftz.f64";
                SqrtF        Double  Function("sqrt")  fast f64s::sqrt                 = "sqrt{.rn}.f64";
                RcpRz        Double  Reciprocal        rare zero::rcp_f64              = "rcp.rz{.ftz}.f64";
                RcpRm        Double  Reciprocal        rare down::rcp_f64              = "rcp.rm{.ftz}.f64";
                RcpRp        Double  Reciprocal        rare up::rcp_f64                = "rcp.rp{.ftz}.f64";
                SqrtRz       Double  Function("sqrt")  rare zero::sqrt_f64             = "sqrt.rz.f64";
                SqrtRm       Double  Function("sqrt")  rare down::sqrt_f64             = "sqrt.rm.f64";
                SqrtRp       Double  Function("sqrt")  rare up::sqrt_f64               = "sqrt.rp.f64";
                SatF         Double  Saturate          fast f64s::saturate;
                FlushF       Double  Copy              slow f64s::flush;
                Rsqrt        Special Function("rsqrt") rare approx::rsqrt_f64          = "rsqrt{.approx}.f64";
                RsqrtFtz     Special Function("rsqrt") rare approx::rsqrt_f64_ftz      = "rsqrt{.approx}.ftz.f64";
                RoundF       Double  Function("round") rare f64s::round_even;
                TruncF       Double  Function("trunc") rare f64s::trunc;
                FloorF       Double  Function("floor") rare f64s::floor;
                CeilF        Double  Function("ceil")  rare f64s::ceil;
                F64FromU64   Convert Opaque            rare cvt::nearest::f64_from_u64;
                F64FromS64   Convert Opaque            rare cvt::nearest::f64_from_s64;
                F64FromU64Rz Convert Opaque            rare cvt::zero::f64_from_u64;
                F64FromU64Rm Convert Opaque            rare cvt::down::f64_from_u64;
                F64FromU64Rp Convert Opaque            rare cvt::up::f64_from_u64;
                F64FromS64Rz Convert Opaque            rare cvt::zero::f64_from_s64;
                F64FromS64Rm Convert Opaque            rare cvt::down::f64_from_s64;
                F64FromS64Rp Convert Opaque            rare cvt::up::f64_from_s64;
                U64FromF64   Convert ToInteger         rare cvt::u64_from_f64;
                S64FromF64   Convert ToInteger         rare cvt::s64_from_f64;
                S8SatS       Convert Opaque            rare cvt::s8_sat_s;
                S8SatU       Convert Opaque            rare cvt::s8_sat_u;
                S16SatS      Convert Opaque            rare cvt::s16_sat_s;
                S16SatU      Convert Opaque            rare cvt::s16_sat_u;
                S32SatS      Convert Opaque            rare cvt::s32_sat_s;
                S32SatU      Convert Opaque            rare cvt::s32_sat_u;
                S64SatS      Convert Opaque            rare cvt::s64_sat_s;
                S64SatU      Convert Opaque            rare cvt::s64_sat_u;
                U8SatS       Convert Opaque            rare cvt::u8_sat_s;
                U8SatU       Convert Opaque            rare cvt::u8_sat_u;
                U16SatS      Convert Opaque            rare cvt::u16_sat_s;
                U16SatU      Convert Opaque            rare cvt::u16_sat_u;
                U32SatS      Convert Opaque            rare cvt::u32_sat_s;
                U32SatU      Convert Opaque            rare cvt::u32_sat_u;
                U64SatS      Convert Opaque            rare cvt::u64_sat_s;
                U64SatU      Convert Opaque            rare cvt::u64_sat_u;
            }
            /// Operations that compute a `Reg64` from two `Reg64`.
            Q2(q2: Reg64, Reg64, Reg64) {
                AddI      Integer Opaque         fast w64::add       = "add.i64";
                SubI      Integer Opaque         fast w64::sub       = "sub.i64";
                MulLo     Integer Opaque         fast w64::mul_lo    = "mul.lo.i64";
                MulHiU    Integer Opaque         rare w64::mul_hi_u  = "mul.hi.u64";
                MulHiS    Integer Opaque         rare w64::mul_hi_s  = "mul.hi.s64";
                DivU      Integer Opaque         rare w64::div_u     = "div.u64";
                DivS      Integer Opaque         rare w64::div_s     = "div.s64";
                RemU      Integer Opaque         rare w64::rem_u     = "rem.u64";
                RemS      Integer Opaque         rare w64::rem_s     = "rem.s64";
                MinU      Integer Opaque         fast w64::min_u     = "min.u64";
                MinS      Integer Opaque         fast w64::min_s     = "min.s64";
                MaxU      Integer Opaque         fast w64::max_u     = "max.u64";
                MaxS      Integer Opaque         fast w64::max_s     = "max.s64";
                And       Integer Opaque         fast w64::and       = "and.i64";
                Or        Integer Opaque         fast w64::or        = "or.i64";
                Xor       Integer Opaque         fast w64::xor       = "xor.i64";
                AddF      Double  Add            fast f64s::add      = "add{.rn}.f64";
                SubF      Double  Sub            fast f64s::sub      = "sub{.rn}.f64";
                MulF      Double  Mul            fast f64s::mul      = "mul{.rn}.f64";
                DivF      Double  Div            fast f64s::div      = "div{.rn}.f64";
                AddRz     Double  Add            rare zero::add_f64  = "add.rz.f64", "sub.rz.f64 t -t";
                AddRm     Double  Add            rare down::add_f64  = "add.rm.f64", "sub.rm.f64 t -t";
                AddRp     Double  Add            rare up::add_f64    = "add.rp.f64", "sub.rp.f64 t -t";
                MulRz     Double  Mul            rare zero::mul_f64  = "mul.rz.f64";
                MulRm     Double  Mul            rare down::mul_f64  = "mul.rm.f64";
                MulRp     Double  Mul            rare up::mul_f64    = "mul.rp.f64";
                DivRz     Double  Div            rare zero::div_f64  = "div.rz.f64";
                DivRm     Double  Div            rare down::div_f64  = "div.rm.f64";
                DivRp     Double  Div            rare up::div_f64    = "div.rp.f64";
                MinF      Double  Extreme(false) fast f64s::min      = "min.f64";
                MaxF      Double  Extreme(true)  fast f64s::max      = "max.f64";
                CopysignF Double  Opaque         fast f64s::copysign = "copysign.f64";
            }
            /// Operations that compute a `Reg64` from three `Reg64`.
            Q3(q3: Reg64, Reg64, Reg64, Reg64) {
                MadLo  Integer Opaque fast w64::mad_lo   = "mad.lo.i64";
                MadHiU Integer Opaque rare w64::mad_hi_u = "mad.hi.u64";
                MadHiS Integer Opaque rare w64::mad_hi_s = "mad.hi.s64";
                SadU   Integer Opaque fast w64::sad_u    = "sad.u64";
                SadS   Integer Opaque fast w64::sad_s    = "sad.s64";
                FmaF   Double  Fma    fast f64s::fma     = "fma|mad{.rn}.f64", "mul-sub.f64 t t -t", "sub-mul.f64 -t t t", "neg-mul-sub.f64 -t t -t";
                FmaRz  Double  Fma    rare zero::fma_f64 = "fma|mad.rz.f64";
                FmaRm  Double  Fma    rare down::fma_f64 = "fma|mad.rm.f64";
                FmaRp  Double  Fma    rare up::fma_f64   = "fma|mad.rp.f64";
            }
            /// Operations that compute a `Reg64` from a `Reg32`.
            QR(qr: Reg64, Reg32) {
                Sext       Integer Opaque      fast int::sext_wide;
                Zext       Integer Opaque      fast int::zext_wide;
                F64FromF32 Convert Copy        fast cvt::f64_from_f32;
                F64FromU32 Convert FromInteger fast cvt::f64_from_u32;
                F64FromS32 Convert FromInteger fast cvt::f64_from_s32;
                U64FromF32 Convert ToInteger   rare cvt::u64_from_f32;
                S64FromF32 Convert ToInteger   rare cvt::s64_from_f32;
            }
            /// Operations that compute a `Reg32` from a `Reg64`.
            RQ(rq: Reg32, Reg64) {
                Low             Integer Low              fast int::low;
                High            Integer High             fast int::high;
                Popc            Integer Opaque           slow w64::popc                    = "popc.i64";
                Clz             Integer Opaque           rare w64::clz                     = "clz.i64";
                BfindU          Integer Opaque           rare w64::bfind_u                 = "bfind.u64";
                BfindS          Integer Opaque           rare w64::bfind_s                 = "bfind.s64";
                BfindShiftU     Integer Opaque           rare w64::bfind_shift_u           = "bfind.shiftamt.u64";
                BfindShiftS     Integer Opaque           rare w64::bfind_shift_s           = "bfind.shiftamt.s64";
                U32FromF64      Convert ToInteger        slow cvt::u32_from_f64;
                U16FromF64      Convert Opaque           rare cvt::u16_from_f64;
                U8FromF64       Convert Opaque           rare cvt::u8_from_f64;
                S32FromF64      Convert ToInteger        slow cvt::s32_from_f64;
                F32FromF64      Convert Copy             slow cvt::nearest::f32_from_f64;
                F32FromF64Rz    Convert Copy             rare cvt::zero::f32_from_f64;
                F32FromF64Rm    Convert Copy             rare cvt::down::f32_from_f64;
                F32FromF64Rp    Convert Copy             rare cvt::up::f32_from_f64;
                F32FromF64Ftz   Float   Copy             rare flush::nearest::f32_from_f64;
                F32FromF64FtzRm Float   Copy             rare flush::down::f32_from_f64;
                F32FromF64FtzRp Float   Copy             rare flush::up::f32_from_f64;
                F32FromU64Rn    Convert Opaque           rare cvt::nearest::f32_from_u64;
                F32FromS64Rn    Convert Opaque           rare cvt::nearest::f32_from_s64;
                F32FromU64Rz    Convert Opaque           rare cvt::zero::f32_from_u64;
                F32FromS64Rz    Convert Opaque           rare cvt::zero::f32_from_s64;
                F32FromU64Rm    Convert Opaque           rare cvt::down::f32_from_u64;
                F32FromS64Rm    Convert Opaque           rare cvt::down::f32_from_s64;
                F32FromU64Rp    Convert Opaque           rare cvt::up::f32_from_u64;
                F32FromS64Rp    Convert Opaque           rare cvt::up::f32_from_s64;
                F16FromF64      Convert Function("f16")  rare cvt::nearest::f16_from_f64;
                F16FromF64Rz    Convert Opaque           rare cvt::zero::f16_from_f64;
                F16FromF64Rm    Convert Opaque           rare cvt::down::f16_from_f64;
                F16FromF64Rp    Convert Opaque           rare cvt::up::f16_from_f64;
                Bf16FromF64     Convert Function("bf16") rare cvt::nearest::bf16_from_f64;
                Bf16FromF64Rz   Convert Opaque           rare cvt::zero::bf16_from_f64;
                Bf16FromF64Rm   Convert Opaque           rare cvt::down::bf16_from_f64;
                Bf16FromF64Rp   Convert Opaque           rare cvt::up::bf16_from_f64;
                F16FromU64      Convert Opaque           rare cvt::nearest::f16_from_u64;
                F16FromU64Rz    Convert Opaque           rare cvt::zero::f16_from_u64;
                F16FromU64Rm    Convert Opaque           rare cvt::down::f16_from_u64;
                F16FromU64Rp    Convert Opaque           rare cvt::up::f16_from_u64;
                F16FromS64      Convert Opaque           rare cvt::nearest::f16_from_s64;
                F16FromS64Rz    Convert Opaque           rare cvt::zero::f16_from_s64;
                F16FromS64Rm    Convert Opaque           rare cvt::down::f16_from_s64;
                F16FromS64Rp    Convert Opaque           rare cvt::up::f16_from_s64;
                Bf16FromU64     Convert Opaque           rare cvt::nearest::bf16_from_u64;
                Bf16FromU64Rz   Convert Opaque           rare cvt::zero::bf16_from_u64;
                Bf16FromU64Rm   Convert Opaque           rare cvt::down::bf16_from_u64;
                Bf16FromU64Rp   Convert Opaque           rare cvt::up::bf16_from_u64;
                Bf16FromS64     Convert Opaque           rare cvt::nearest::bf16_from_s64;
                Bf16FromS64Rz   Convert Opaque           rare cvt::zero::bf16_from_s64;
                Bf16FromS64Rm   Convert Opaque           rare cvt::down::bf16_from_s64;
                Bf16FromS64Rp   Convert Opaque           rare cvt::up::bf16_from_s64;
            }
            /// Operations that compute a `Reg64` from two `Reg32`.
            QRR(qrr: Reg64, Reg32, Reg32) {
                MulWideU Integer Opaque fast int::mul_wide_u = "mul.wide.u32";
                MulWideS Integer Opaque fast int::mul_wide_s = "mul.wide.s32";
                Pack     Integer Pair   fast int::pack64;
            }
            /// Operations that compute a `Reg64` from two `Reg32` and a `Reg64`.
            QRRQ(qrrq: Reg64, Reg32, Reg32, Reg64) {
                MadWideU Integer Opaque fast int::mad_wide_u = "mad.wide.u32 t t b64";
                MadWideS Integer Opaque fast int::mad_wide_s = "mad.wide.s32 t t b64";
            }
            /// Operations that compute a `Reg64` from a `Reg64` and a `Reg32`.
            QQR(qqr: Reg64, Reg64, Reg32) {
                Shl  Integer Opaque fast w64::shl   = "shl.i64 t u32";
                ShrU Integer Opaque fast w64::shr_u = "shr.b64|u64 t u32";
                ShrS Integer Opaque fast w64::shr_s = "shr.s64 t u32";
            }
            /// Operations that compute a `Reg64` from a `Reg64` and two `Reg32`.
            QQRR(qqrr: Reg64, Reg64, Reg32, Reg32) {
                BfeU Integer Opaque rare w64::bfe_u = "bfe.u64 t u32 u32";
                BfeS Integer Opaque rare w64::bfe_s = "bfe.s64 t u32 u32";
            }
            /// Operations that compute a `Reg64` from two `Reg64` and two `Reg32`.
            QQQRR(qqqrr: Reg64, Reg64, Reg64, Reg32, Reg32) {
                Bfi Integer Opaque rare w64::bfi = "bfi.i64 t t u32 u32";
            }
            /// Operations that compute a `Pred` from a `Reg32`.
            PR(pr: Pred, Reg32) {
                Finite     Compare Compare rare f32s::is_finite    = "testp.finite.f32";
                Infinite   Compare Compare rare f32s::is_infinite  = "testp.infinite.f32";
                Number     Compare Compare rare f32s::is_number    = "testp.number.f32";
                NotANumber Compare Compare rare f32s::is_nan       = "testp.notanumber.f32";
                Normal     Compare Compare rare f32s::is_normal    = "testp.normal.f32";
                Subnormal  Compare Compare rare f32s::is_subnormal = "testp.subnormal.f32";
            }
            /// Operations that compute a `Pred` from a `Reg64`.
            PQ(pq: Pred, Reg64) {
                Finite     Compare Compare rare f64s::is_finite    = "testp.finite.f64";
                Infinite   Compare Compare rare f64s::is_infinite  = "testp.infinite.f64";
                Number     Compare Compare rare f64s::is_number    = "testp.number.f64";
                NotANumber Compare Compare rare f64s::is_nan       = "testp.notanumber.f64";
                Normal     Compare Compare rare f64s::is_normal    = "testp.normal.f64";
                Subnormal  Compare Compare rare f64s::is_subnormal = "testp.subnormal.f64";
            }
            /// Operations that compute a `Pred` from two `Reg32`.
            PRR(prr: Pred, Reg32, Reg32) {
                Eq  Compare Compare fast cmp::w32::eq;
                Ne  Compare Compare fast cmp::w32::ne;
                LtU Compare Compare fast cmp::w32::lt_u;
                LeU Compare Compare fast cmp::w32::le_u;
                LtS Compare Compare fast cmp::w32::lt_s;
                LeS Compare Compare fast cmp::w32::le_s;
                EqF Compare Compare fast cmp::f32s::eq;
                NeF Compare Compare fast cmp::f32s::ne;
                LtF Compare Compare fast cmp::f32s::lt;
                LeF Compare Compare fast cmp::f32s::le;
                Num Compare Compare fast cmp::f32s::num;
            }
            /// Operations that compute a `Pred` from two `Reg64`.
            PQQ(pqq: Pred, Reg64, Reg64) {
                Eq  Compare Compare fast cmp::w64::eq;
                Ne  Compare Compare fast cmp::w64::ne;
                LtU Compare Compare fast cmp::w64::lt_u;
                LeU Compare Compare fast cmp::w64::le_u;
                LtS Compare Compare fast cmp::w64::lt_s;
                LeS Compare Compare fast cmp::w64::le_s;
                EqF Compare Compare fast cmp::f64s::eq;
                NeF Compare Compare fast cmp::f64s::ne;
                LtF Compare Compare fast cmp::f64s::lt;
                LeF Compare Compare fast cmp::f64s::le;
                Num Compare Compare fast cmp::f64s::num;
            }
        }
    };
}
pub(crate) use with_lane_operations;
