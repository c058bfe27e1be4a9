//! The table of lane operations: the decoded operations, and how each runs, both follow from it.
//!
//! Each class is one register signature. Files: `R` registers of up to 32 bits, `Q` of 64 bits, `P` predicates. An entry is
//! its name, how it runs, and its function: `fast` operations compute all 32 lanes and blend, so that the compiler can
//! vectorise them; `slow` ones visit the active lanes one by one.

/// Calls `$callback!` with the table, and what else stands first.
macro_rules! with_alu_table {
    ($callback:ident $($first:tt)*) => {
        $callback! {
            $($first)*
            /// R <- R
            R1(r1: R, R) {
                Mov fast w32::mov; Not fast w32::not; Cnot fast w32::cnot; NegI fast w32::neg; AbsI fast w32::abs;
                Brev fast w32::brev; Popc fast w32::popc; Clz slow w32::clz;
                BfindU slow w32::bfind_u; BfindS slow w32::bfind_s;
                BfindShiftU slow w32::bfind_shift_u; BfindShiftS slow w32::bfind_shift_s;
                Sext8 fast int::sext8; Sext16 fast int::sext16; Zext8 fast int::zext8; Zext16 fast int::zext16;
                High16 fast int::high16;
                NegF fast f32s::neg; AbsF fast f32s::abs; RcpF fast f32s::rcp; SqrtF fast f32s::sqrt;
                RcpRz slow zero::rcp_f32; RcpRm slow down::rcp_f32; RcpRp slow up::rcp_f32;
                RcpFtzRm slow flush::down::rcp_f32; RcpFtzRp slow flush::up::rcp_f32;
                SqrtRz slow zero::sqrt_f32; SqrtRm slow down::sqrt_f32; SqrtRp slow up::sqrt_f32;
                FlushF fast f32s::flush; SatF fast f32s::saturate;
                RoundF slow f32s::round_even; TruncF slow f32s::trunc; FloorF slow f32s::floor; CeilF slow f32s::ceil;
                Ex2 slow approx::ex2; Lg2 slow approx::lg2; Sin slow approx::sin; Cos slow approx::cos;
                Tanh slow approx::tanh; Rsqrt slow approx::rsqrt;
                NegH fast half::neg; AbsH fast half::abs; NegH2 fast half::neg2; AbsH2 fast half::abs2;
                SatF16 slow f16::saturate; SatBf16 slow bf16::saturate; SatF16x2 slow f16::saturate2;
                SatBf16x2 slow bf16::saturate2;
                ReluF16 slow f16::relu; ReluBf16 slow bf16::relu; ReluF16x2 slow f16::relu2; ReluBf16x2 slow bf16::relu2;
                FlushF16 slow f16::flush; FlushF16x2 slow f16::flush2; FlushBf16 slow bf16::flush; FlushBf16x2 slow bf16::flush2;
                Ex2F16 slow f16::ex2; Ex2Bf16 slow bf16::ex2; Ex2F16x2 slow f16::ex2_2; Ex2Bf16x2 slow bf16::ex2_2;
                TanhF16 slow f16::tanh; TanhBf16 slow bf16::tanh; TanhF16x2 slow f16::tanh_2;
                TanhBf16x2 slow bf16::tanh_2;
                RoundF16 slow half::round_even; TruncF16 slow half::trunc; FloorF16 slow half::floor; CeilF16 slow half::ceil;
                F32FromU32 fast cvt::f32_from_u32; F32FromS32 fast cvt::f32_from_s32;
                U32FromF32 fast cvt::u32_from_f32; S32FromF32 fast cvt::s32_from_f32;
                F32FromF16 slow cvt::f32_from_f16; F32FromBf16 fast cvt::f32_from_bf16;
                F16FromF32 slow cvt::nearest::f16_from_f32; F16FromF32Rz slow cvt::zero::f16_from_f32;
                F16FromF32Rm slow cvt::down::f16_from_f32; F16FromF32Rp slow cvt::up::f16_from_f32;
                Bf16FromF32 slow cvt::nearest::bf16_from_f32; Bf16FromF32Rz slow cvt::zero::bf16_from_f32;
                Bf16FromF32Rm slow cvt::down::bf16_from_f32; Bf16FromF32Rp slow cvt::up::bf16_from_f32;
                Tf32Even slow narrow::tf32_even; Tf32Away slow narrow::tf32_away; Tf32Zero slow narrow::tf32_zero;
                Tf32Finite slow narrow::tf32_finite; ReluF slow narrow::relu_f32;
                FiniteF16 slow narrow::f16_finite; FiniteBf16 slow narrow::bf16_finite;
                E4m3FromF32 slow narrow::e4m3_from_f32; E5m2FromF32 slow narrow::e5m2_from_f32;
                F16FromE4m3 slow narrow::f16_from_e4m3; F16FromE5m2 slow narrow::f16_from_e5m2;
            }
            /// R <- R, R
            R2(r2: R, R, R) {
                AddI fast w32::add; SubI fast w32::sub; MulLo fast w32::mul_lo; MulHiU fast w32::mul_hi_u;
                MulHiS fast w32::mul_hi_s; DivU slow w32::div_u; DivS slow w32::div_s; RemU slow w32::rem_u;
                RemS slow w32::rem_s; MinU fast w32::min_u; MinS fast w32::min_s; MaxU fast w32::max_u;
                MaxS fast w32::max_s; And fast w32::and; Or fast w32::or; Xor fast w32::xor;
                Shl fast w32::shl; ShrU fast w32::shr_u; ShrS fast w32::shr_s;
                AddSatS fast int::add_sat_s; SubSatS fast int::sub_sat_s;
                Mul24U fast int::mul24_lo_u; Mul24S fast int::mul24_lo_s;
                Mul24HiU fast int::mul24_hi_u; Mul24HiS fast int::mul24_hi_s;
                Add16x2 fast int::add_16x2; MinU16x2 fast int::min_u16x2; MaxU16x2 fast int::max_u16x2;
                MinS16x2 fast int::min_s16x2; MaxS16x2 fast int::max_s16x2;
                BmskClamp slow int::bmsk_clamp; BmskWrap slow int::bmsk_wrap; Pack32 fast int::pack32;
                AddF fast f32s::add; SubF fast f32s::sub; MulF fast f32s::mul; DivF fast f32s::div;
                AddRz slow zero::add_f32; AddRm slow down::add_f32; AddRp slow up::add_f32;
                MulRz slow zero::mul_f32; MulRm slow down::mul_f32; MulRp slow up::mul_f32;
                DivRz slow zero::div_f32; DivRm slow down::div_f32; DivRp slow up::div_f32;
                MulFtz fast flush::mul_f32; MulFtzRm slow flush::down::mul_f32; MulFtzRp slow flush::up::mul_f32;
                DivFtzRm slow flush::down::div_f32; DivFtzRp slow flush::up::div_f32;
                MulFtzF16 slow flush::mul_f16; MulFtzF16x2 slow flush::mul_f16x2;
                MinF fast f32s::min; MaxF fast f32s::max; MinNanF fast f32s::min_nan; MaxNanF fast f32s::max_nan;
                CopysignF fast f32s::copysign;
                AddF16 slow f16::add; SubF16 slow f16::sub; MulF16 slow f16::mul; MinF16 slow f16::min;
                MaxF16 slow f16::max; MinNanF16 slow f16::min_nan; MaxNanF16 slow f16::max_nan;
                AddBf16 slow bf16::add; SubBf16 slow bf16::sub; MulBf16 slow bf16::mul; MinBf16 slow bf16::min;
                MaxBf16 slow bf16::max; MinNanBf16 slow bf16::min_nan; MaxNanBf16 slow bf16::max_nan;
                AddF16x2 slow f16::add2; SubF16x2 slow f16::sub2; MulF16x2 slow f16::mul2; MinF16x2 slow f16::min2;
                MaxF16x2 slow f16::max2; MinNanF16x2 slow f16::min_nan2; MaxNanF16x2 slow f16::max_nan2;
                AddBf16x2 slow bf16::add2; SubBf16x2 slow bf16::sub2; MulBf16x2 slow bf16::mul2;
                MinBf16x2 slow bf16::min2; MaxBf16x2 slow bf16::max2; MinNanBf16x2 slow bf16::min_nan2;
                MaxNanBf16x2 slow bf16::max_nan2;
            }
            /// R <- R, R, R
            R3(r3: R, R, R, R) {
                MadLo fast w32::mad_lo; MadHiU fast w32::mad_hi_u; MadHiS fast w32::mad_hi_s;
                SadU fast w32::sad_u; SadS fast w32::sad_s; BfeU slow w32::bfe_u; BfeS slow w32::bfe_s;
                Prmt slow int::prmt; PrmtF4e slow int::prmt_f4e; PrmtB4e slow int::prmt_b4e; PrmtRc8 slow int::prmt_rc8;
                PrmtEcl slow int::prmt_ecl; PrmtEcr slow int::prmt_ecr; PrmtRc16 slow int::prmt_rc16;
                FindNthSet slow int::find_nth_set;
                ShfLWrap fast int::shf_l_wrap; ShfLClamp fast int::shf_l_clamp;
                ShfRWrap fast int::shf_r_wrap; ShfRClamp fast int::shf_r_clamp;
                Dp4aUU slow int::dp4a_uu; Dp4aUS slow int::dp4a_us; Dp4aSU slow int::dp4a_su; Dp4aSS slow int::dp4a_ss;
                Dp2aUU slow int::dp2a_uu; Dp2aUS slow int::dp2a_us; Dp2aSU slow int::dp2a_su; Dp2aSS slow int::dp2a_ss;
                FmaF fast f32s::fma; FmaRz slow zero::fma_f32; FmaRm slow down::fma_f32; FmaRp slow up::fma_f32;
                FmaFtz fast flush::fma_f32; FmaFtzRm slow flush::down::fma_f32; FmaFtzRp slow flush::up::fma_f32;
                FmaFtzF16 slow flush::fma_f16; FmaFtzF16x2 slow flush::fma_f16x2;
                FmaF16 slow f16::fma; FmaF16x2 slow f16::fma2; FmaBf16 slow bf16::fma; FmaBf16x2 slow bf16::fma2;
            }
            /// R <- R, R, R, R
            R4(r4: R, R, R, R, R) {
                Bfi slow w32::bfi; Lop3 slow int::lop3; Video slow video::scalar; VideoSimd slow video::simd;
            }
            /// Q <- Q
            Q1(q1: Q, Q) {
                Mov fast w64::mov; Not fast w64::not; Cnot fast w64::cnot; NegI fast w64::neg; AbsI fast w64::abs;
                Brev fast w64::brev;
                NegF fast f64s::neg; AbsF fast f64s::abs; RcpF fast f64s::rcp; SqrtF fast f64s::sqrt;
                RcpRz slow zero::rcp_f64; RcpRm slow down::rcp_f64; RcpRp slow up::rcp_f64;
                SqrtRz slow zero::sqrt_f64; SqrtRm slow down::sqrt_f64; SqrtRp slow up::sqrt_f64;
                SatF fast f64s::saturate; FlushF slow f64s::flush; Rsqrt slow approx::rsqrt_f64;
                RoundF slow f64s::round_even; TruncF slow f64s::trunc; FloorF slow f64s::floor; CeilF slow f64s::ceil;
                F64FromU64 slow cvt::nearest::f64_from_u64; F64FromS64 slow cvt::nearest::f64_from_s64;
                F64FromU64Rz slow cvt::zero::f64_from_u64; F64FromU64Rm slow cvt::down::f64_from_u64;
                F64FromU64Rp slow cvt::up::f64_from_u64; F64FromS64Rz slow cvt::zero::f64_from_s64;
                F64FromS64Rm slow cvt::down::f64_from_s64; F64FromS64Rp slow cvt::up::f64_from_s64;
                U64FromF64 slow cvt::u64_from_f64; S64FromF64 slow cvt::s64_from_f64;
                S8SatS slow cvt::s8_sat_s; S8SatU slow cvt::s8_sat_u; S16SatS slow cvt::s16_sat_s;
                S16SatU slow cvt::s16_sat_u; S32SatS slow cvt::s32_sat_s; S32SatU slow cvt::s32_sat_u;
                S64SatS slow cvt::s64_sat_s; S64SatU slow cvt::s64_sat_u; U8SatS slow cvt::u8_sat_s;
                U8SatU slow cvt::u8_sat_u; U16SatS slow cvt::u16_sat_s; U16SatU slow cvt::u16_sat_u;
                U32SatS slow cvt::u32_sat_s; U32SatU slow cvt::u32_sat_u; U64SatS slow cvt::u64_sat_s;
                U64SatU slow cvt::u64_sat_u;
            }
            /// Q <- Q, Q
            Q2(q2: Q, Q, Q) {
                AddI fast w64::add; SubI fast w64::sub; MulLo fast w64::mul_lo; MulHiU slow w64::mul_hi_u;
                MulHiS slow w64::mul_hi_s; DivU slow w64::div_u; DivS slow w64::div_s; RemU slow w64::rem_u;
                RemS slow w64::rem_s; MinU fast w64::min_u; MinS fast w64::min_s; MaxU fast w64::max_u;
                MaxS fast w64::max_s; And fast w64::and; Or fast w64::or; Xor fast w64::xor;
                AddF fast f64s::add; SubF fast f64s::sub; MulF fast f64s::mul; DivF fast f64s::div;
                AddRz slow zero::add_f64; AddRm slow down::add_f64; AddRp slow up::add_f64;
                MulRz slow zero::mul_f64; MulRm slow down::mul_f64; MulRp slow up::mul_f64;
                DivRz slow zero::div_f64; DivRm slow down::div_f64; DivRp slow up::div_f64;
                MinF fast f64s::min; MaxF fast f64s::max; CopysignF fast f64s::copysign;
            }
            /// Q <- Q, Q, Q
            Q3(q3: Q, Q, Q, Q) {
                MadLo fast w64::mad_lo; MadHiU slow w64::mad_hi_u; MadHiS slow w64::mad_hi_s;
                SadU fast w64::sad_u; SadS fast w64::sad_s; FmaF fast f64s::fma;
                FmaRz slow zero::fma_f64; FmaRm slow down::fma_f64; FmaRp slow up::fma_f64;
            }
            /// Q <- R
            QR(qr: Q, R) {
                Sext fast int::sext_wide; Zext fast int::zext_wide;
                F64FromF32 fast cvt::f64_from_f32; F64FromU32 fast cvt::f64_from_u32; F64FromS32 fast cvt::f64_from_s32;
                U64FromF32 slow cvt::u64_from_f32; S64FromF32 slow cvt::s64_from_f32;
            }
            /// R <- Q
            RQ(rq: R, Q) {
                Low fast int::low; High fast int::high; Popc slow w64::popc; Clz slow w64::clz;
                BfindU slow w64::bfind_u; BfindS slow w64::bfind_s;
                BfindShiftU slow w64::bfind_shift_u; BfindShiftS slow w64::bfind_shift_s;
                U32FromF64 slow cvt::u32_from_f64; U16FromF64 slow cvt::u16_from_f64; U8FromF64 slow cvt::u8_from_f64; S32FromF64 slow cvt::s32_from_f64;
                F32FromF64 slow cvt::nearest::f32_from_f64; F32FromF64Rz slow cvt::zero::f32_from_f64;
                F32FromF64Rm slow cvt::down::f32_from_f64; F32FromF64Rp slow cvt::up::f32_from_f64;
                F32FromF64Ftz slow flush::nearest::f32_from_f64; F32FromF64FtzRm slow flush::down::f32_from_f64;
                F32FromF64FtzRp slow flush::up::f32_from_f64;
                F32FromU64Rn slow cvt::nearest::f32_from_u64; F32FromS64Rn slow cvt::nearest::f32_from_s64;
                F32FromU64Rz slow cvt::zero::f32_from_u64; F32FromS64Rz slow cvt::zero::f32_from_s64;
                F32FromU64Rm slow cvt::down::f32_from_u64; F32FromS64Rm slow cvt::down::f32_from_s64;
                F32FromU64Rp slow cvt::up::f32_from_u64; F32FromS64Rp slow cvt::up::f32_from_s64;
                F16FromF64 slow cvt::nearest::f16_from_f64; F16FromF64Rz slow cvt::zero::f16_from_f64;
                F16FromF64Rm slow cvt::down::f16_from_f64; F16FromF64Rp slow cvt::up::f16_from_f64;
                Bf16FromF64 slow cvt::nearest::bf16_from_f64; Bf16FromF64Rz slow cvt::zero::bf16_from_f64;
                Bf16FromF64Rm slow cvt::down::bf16_from_f64; Bf16FromF64Rp slow cvt::up::bf16_from_f64;
                F16FromU64 slow cvt::nearest::f16_from_u64; F16FromU64Rz slow cvt::zero::f16_from_u64;
                F16FromU64Rm slow cvt::down::f16_from_u64; F16FromU64Rp slow cvt::up::f16_from_u64;
                F16FromS64 slow cvt::nearest::f16_from_s64; F16FromS64Rz slow cvt::zero::f16_from_s64;
                F16FromS64Rm slow cvt::down::f16_from_s64; F16FromS64Rp slow cvt::up::f16_from_s64;
                Bf16FromU64 slow cvt::nearest::bf16_from_u64; Bf16FromU64Rz slow cvt::zero::bf16_from_u64;
                Bf16FromU64Rm slow cvt::down::bf16_from_u64; Bf16FromU64Rp slow cvt::up::bf16_from_u64;
                Bf16FromS64 slow cvt::nearest::bf16_from_s64; Bf16FromS64Rz slow cvt::zero::bf16_from_s64;
                Bf16FromS64Rm slow cvt::down::bf16_from_s64; Bf16FromS64Rp slow cvt::up::bf16_from_s64;
            }
            /// Q <- R, R
            QRR(qrr: Q, R, R) {
                MulWideU fast int::mul_wide_u; MulWideS fast int::mul_wide_s; Pack fast int::pack64;
            }
            /// Q <- R, R, Q
            QRRQ(qrrq: Q, R, R, Q) {
                MadWideU fast int::mad_wide_u; MadWideS fast int::mad_wide_s;
            }
            /// Q <- Q, R
            QQR(qqr: Q, Q, R) {
                Shl fast w64::shl; ShrU fast w64::shr_u; ShrS fast w64::shr_s;
            }
            /// Q <- Q, R, R
            QQRR(qqrr: Q, Q, R, R) {
                BfeU slow w64::bfe_u; BfeS slow w64::bfe_s;
            }
            /// Q <- Q, Q, R, R
            QQQRR(qqqrr: Q, Q, Q, R, R) {
                Bfi slow w64::bfi;
            }
            /// P <- R
            PR(pr: P, R) {
                Finite slow f32s::is_finite; Infinite slow f32s::is_infinite; Number slow f32s::is_number;
                NotANumber slow f32s::is_nan; Normal slow f32s::is_normal; Subnormal slow f32s::is_subnormal;
            }
            /// P <- Q
            PQ(pq: P, Q) {
                Finite slow f64s::is_finite; Infinite slow f64s::is_infinite; Number slow f64s::is_number;
                NotANumber slow f64s::is_nan; Normal slow f64s::is_normal; Subnormal slow f64s::is_subnormal;
            }
            /// P <- R, R
            PRR(prr: P, R, R) {
                Eq fast cmp::w32::eq; Ne fast cmp::w32::ne; LtU fast cmp::w32::lt_u; LeU fast cmp::w32::le_u;
                LtS fast cmp::w32::lt_s; LeS fast cmp::w32::le_s;
                EqF fast cmp::f32s::eq; NeF fast cmp::f32s::ne; LtF fast cmp::f32s::lt; LeF fast cmp::f32s::le;
                Num fast cmp::f32s::num;
            }
            /// P <- Q, Q
            PQQ(pqq: P, Q, Q) {
                Eq fast cmp::w64::eq; Ne fast cmp::w64::ne; LtU fast cmp::w64::lt_u; LeU fast cmp::w64::le_u;
                LtS fast cmp::w64::lt_s; LeS fast cmp::w64::le_s;
                EqF fast cmp::f64s::eq; NeF fast cmp::f64s::ne; LtF fast cmp::f64s::lt; LeF fast cmp::f64s::le;
                Num fast cmp::f64s::num;
            }
        }
    };
}
pub(crate) use with_alu_table;
