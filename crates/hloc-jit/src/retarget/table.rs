//! What becomes what.
//!
//! Each group of rows is one way of widening. Nothing else is ever widened, and no vector instruction outside
//! of the table passes.

use std::sync::LazyLock;

use iced_x86::Code;
use iced_x86::Code::*;

use super::across::Across;

/// How an instruction is treated. Operands that are vector registers become wide unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The same operation in every lane.
    Lanes(Pair),
    /// The last operand counts bits and stays as it is.
    Counted(Pair),
    /// The last operand is a number for all lanes and stays as it is.
    Spread(Pair),
    /// The last operand holds as many elements of half the size.
    FromHalf(Pair),
    /// The last operand holds as many elements of a quarter of the size.
    FromQuarter(Pair),
    /// Gives all ones or zeros in each lane.
    Compare {
        /// The 256-bit form.
        narrow: Code,
        /// The 512-bit form, which gives a mask register.
        mask: Code,
        /// Width of the lanes.
        lanes: Lanes,
    },
    /// Takes a lane of one operand or another by the sign of a third one's.
    Blend {
        /// The 256-bit form.
        narrow: Code,
        /// The 512-bit form, which takes a mask register.
        blend: Code,
        /// Width of the lanes.
        lanes: Lanes,
    },
    /// A vector from a register or memory.
    Load(Access),
    /// A vector to a register or memory.
    Store(Access),
    /// `vpshufd`, which spreads a number when its immediate says so.
    Shuffle,
    /// Two numbers of 64 bits alike.
    Duplicate,
    /// Signed saturation to half the size, of an operand with itself.
    Pack {
        /// Whether 16 bits become 8, not 32 16.
        bytes: bool,
    },
    /// Takes elements of two vectors.
    Across(Across),
    /// The signs of all lanes as bits of a general register.
    Signs {
        /// The 256-bit form.
        narrow: Code,
        /// Width of the lanes.
        lanes: Lanes,
    },
    /// Works on the lowest lane alone and stays as it is.
    Scalar,
    /// An encoding from before AVX, treated as what replaces it. Where that has one operand more, the first
    /// is both result and operand.
    Old(Code),
}

/// The wide forms of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The 256-bit form.
    pub(super) bits256: Code,
    /// The 512-bit form.
    pub(super) bits512: Code,
}

/// Width of the lanes of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// 8 bits.
    Bytes,
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

/// How much of memory a move accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// A wide vector.
    Whole,
    /// Half of one.
    Half,
    /// 16 bytes.
    Fixed,
}

/// How the instruction is treated, `None` if it is not known.
pub(super) fn form(code: Code) -> Option<Form> {
    TABLE.get(code as usize).copied().flatten()
}

/// Whether a wide form takes one number for all lanes.
pub(super) fn is_spread(wide: Code) -> bool {
    let mut rows = SPREAD.iter();
    rows.any(|(_, pair)| pair.bits256 == wide || pair.bits512 == wide)
}

/// Whether the instruction reads its first operand, too.
pub(super) fn is_fused(code: Code) -> bool {
    FUSED.contains(&code)
}

/// Every known instruction with its treatment.
#[cfg(test)]
pub(super) fn rows() -> impl Iterator<Item = (Code, Form)> {
    Code::values().filter_map(|code| form(code).map(|form| (code, form)))
}

static TABLE: LazyLock<Vec<Option<Form>>> = LazyLock::new(|| {
    let mut table = vec![None; Code::values().len()];
    let rows = [
        (LANES, Form::Lanes as fn(Pair) -> Form),
        (COUNTED, Form::Counted),
        (SPREAD, Form::Spread),
        (FROM_HALF, Form::FromHalf),
        (FROM_QUARTER, Form::FromQuarter),
    ];
    for (rows, form) in rows {
        for (code, pair) in rows {
            table[*code as usize] = Some(form(*pair));
        }
    }
    for (code, form) in OTHERS {
        table[*code as usize] = Some(*form);
    }
    for (code, new) in OLD {
        table[*code as usize] = Some(Form::Old(*new));
    }
    for code in SCALARS {
        table[*code as usize] = Some(Form::Scalar);
    }
    table
});

type Rows = &'static [(Code, Pair)];

macro_rules! rows {
    ($($from:ident => $bits256:ident, $bits512:ident;)*) => {
        &[$(($from, Pair { bits256: $bits256, bits512: $bits512 })),*]
    };
}

const LANES: Rows = rows! {
    VEX_Vaddps_xmm_xmm_xmmm128 => VEX_Vaddps_ymm_ymm_ymmm256, EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vaddpd_xmm_xmm_xmmm128 => VEX_Vaddpd_ymm_ymm_ymmm256, EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vsubps_xmm_xmm_xmmm128 => VEX_Vsubps_ymm_ymm_ymmm256, EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vsubpd_xmm_xmm_xmmm128 => VEX_Vsubpd_ymm_ymm_ymmm256, EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vmulps_xmm_xmm_xmmm128 => VEX_Vmulps_ymm_ymm_ymmm256, EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vmulpd_xmm_xmm_xmmm128 => VEX_Vmulpd_ymm_ymm_ymmm256, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vdivps_xmm_xmm_xmmm128 => VEX_Vdivps_ymm_ymm_ymmm256, EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vdivpd_xmm_xmm_xmmm128 => VEX_Vdivpd_ymm_ymm_ymmm256, EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vsqrtps_xmm_xmmm128 => VEX_Vsqrtps_ymm_ymmm256, EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er;
    VEX_Vsqrtpd_xmm_xmmm128 => VEX_Vsqrtpd_ymm_ymmm256, EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er;
    VEX_Vminps_xmm_xmm_xmmm128 => VEX_Vminps_ymm_ymm_ymmm256, EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae;
    VEX_Vminpd_xmm_xmm_xmmm128 => VEX_Vminpd_ymm_ymm_ymmm256, EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae;
    VEX_Vmaxps_xmm_xmm_xmmm128 => VEX_Vmaxps_ymm_ymm_ymmm256, EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae;
    VEX_Vmaxpd_xmm_xmm_xmmm128 => VEX_Vmaxpd_ymm_ymm_ymmm256, EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae;
    VEX_Vandps_xmm_xmm_xmmm128 => VEX_Vandps_ymm_ymm_ymmm256, EVEX_Vandps_zmm_k1z_zmm_zmmm512b32;
    VEX_Vandpd_xmm_xmm_xmmm128 => VEX_Vandpd_ymm_ymm_ymmm256, EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64;
    VEX_Vandnps_xmm_xmm_xmmm128 => VEX_Vandnps_ymm_ymm_ymmm256, EVEX_Vandnps_zmm_k1z_zmm_zmmm512b32;
    VEX_Vandnpd_xmm_xmm_xmmm128 => VEX_Vandnpd_ymm_ymm_ymmm256, EVEX_Vandnpd_zmm_k1z_zmm_zmmm512b64;
    VEX_Vorps_xmm_xmm_xmmm128 => VEX_Vorps_ymm_ymm_ymmm256, EVEX_Vorps_zmm_k1z_zmm_zmmm512b32;
    VEX_Vorpd_xmm_xmm_xmmm128 => VEX_Vorpd_ymm_ymm_ymmm256, EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64;
    VEX_Vxorps_xmm_xmm_xmmm128 => VEX_Vxorps_ymm_ymm_ymmm256, EVEX_Vxorps_zmm_k1z_zmm_zmmm512b32;
    VEX_Vxorpd_xmm_xmm_xmmm128 => VEX_Vxorpd_ymm_ymm_ymmm256, EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64;
    VEX_Vfmadd132ps_xmm_xmm_xmmm128 => VEX_Vfmadd132ps_ymm_ymm_ymmm256, EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfmadd213ps_xmm_xmm_xmmm128 => VEX_Vfmadd213ps_ymm_ymm_ymmm256, EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfmadd231ps_xmm_xmm_xmmm128 => VEX_Vfmadd231ps_ymm_ymm_ymmm256, EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfmadd132pd_xmm_xmm_xmmm128 => VEX_Vfmadd132pd_ymm_ymm_ymmm256, EVEX_Vfmadd132pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfmadd213pd_xmm_xmm_xmmm128 => VEX_Vfmadd213pd_ymm_ymm_ymmm256, EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfmadd231pd_xmm_xmm_xmmm128 => VEX_Vfmadd231pd_ymm_ymm_ymmm256, EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfnmadd132ps_xmm_xmm_xmmm128 => VEX_Vfnmadd132ps_ymm_ymm_ymmm256, EVEX_Vfnmadd132ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfnmadd213ps_xmm_xmm_xmmm128 => VEX_Vfnmadd213ps_ymm_ymm_ymmm256, EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfnmadd231ps_xmm_xmm_xmmm128 => VEX_Vfnmadd231ps_ymm_ymm_ymmm256, EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfnmadd132pd_xmm_xmm_xmmm128 => VEX_Vfnmadd132pd_ymm_ymm_ymmm256, EVEX_Vfnmadd132pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfnmadd213pd_xmm_xmm_xmmm128 => VEX_Vfnmadd213pd_ymm_ymm_ymmm256, EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfnmadd231pd_xmm_xmm_xmmm128 => VEX_Vfnmadd231pd_ymm_ymm_ymmm256, EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfmsub132ps_xmm_xmm_xmmm128 => VEX_Vfmsub132ps_ymm_ymm_ymmm256, EVEX_Vfmsub132ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfmsub213ps_xmm_xmm_xmmm128 => VEX_Vfmsub213ps_ymm_ymm_ymmm256, EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfmsub231ps_xmm_xmm_xmmm128 => VEX_Vfmsub231ps_ymm_ymm_ymmm256, EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfmsub132pd_xmm_xmm_xmmm128 => VEX_Vfmsub132pd_ymm_ymm_ymmm256, EVEX_Vfmsub132pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfmsub213pd_xmm_xmm_xmmm128 => VEX_Vfmsub213pd_ymm_ymm_ymmm256, EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfmsub231pd_xmm_xmm_xmmm128 => VEX_Vfmsub231pd_ymm_ymm_ymmm256, EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfnmsub132ps_xmm_xmm_xmmm128 => VEX_Vfnmsub132ps_ymm_ymm_ymmm256, EVEX_Vfnmsub132ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfnmsub213ps_xmm_xmm_xmmm128 => VEX_Vfnmsub213ps_ymm_ymm_ymmm256, EVEX_Vfnmsub213ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfnmsub231ps_xmm_xmm_xmmm128 => VEX_Vfnmsub231ps_ymm_ymm_ymmm256, EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er;
    VEX_Vfnmsub132pd_xmm_xmm_xmmm128 => VEX_Vfnmsub132pd_ymm_ymm_ymmm256, EVEX_Vfnmsub132pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfnmsub213pd_xmm_xmm_xmmm128 => VEX_Vfnmsub213pd_ymm_ymm_ymmm256, EVEX_Vfnmsub213pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vfnmsub231pd_xmm_xmm_xmmm128 => VEX_Vfnmsub231pd_ymm_ymm_ymmm256, EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er;
    VEX_Vcvtdq2ps_xmm_xmmm128 => VEX_Vcvtdq2ps_ymm_ymmm256, EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er;
    VEX_Vcvttps2dq_xmm_xmmm128 => VEX_Vcvttps2dq_ymm_ymmm256, EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae;
    VEX_Vpaddb_xmm_xmm_xmmm128 => VEX_Vpaddb_ymm_ymm_ymmm256, EVEX_Vpaddb_zmm_k1z_zmm_zmmm512;
    VEX_Vpaddw_xmm_xmm_xmmm128 => VEX_Vpaddw_ymm_ymm_ymmm256, EVEX_Vpaddw_zmm_k1z_zmm_zmmm512;
    VEX_Vpaddd_xmm_xmm_xmmm128 => VEX_Vpaddd_ymm_ymm_ymmm256, EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpaddq_xmm_xmm_xmmm128 => VEX_Vpaddq_ymm_ymm_ymmm256, EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
    VEX_Vpsubb_xmm_xmm_xmmm128 => VEX_Vpsubb_ymm_ymm_ymmm256, EVEX_Vpsubb_zmm_k1z_zmm_zmmm512;
    VEX_Vpsubw_xmm_xmm_xmmm128 => VEX_Vpsubw_ymm_ymm_ymmm256, EVEX_Vpsubw_zmm_k1z_zmm_zmmm512;
    VEX_Vpsubd_xmm_xmm_xmmm128 => VEX_Vpsubd_ymm_ymm_ymmm256, EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpsubq_xmm_xmm_xmmm128 => VEX_Vpsubq_ymm_ymm_ymmm256, EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64;
    VEX_Vpmulld_xmm_xmm_xmmm128 => VEX_Vpmulld_ymm_ymm_ymmm256, EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpmuludq_xmm_xmm_xmmm128 => VEX_Vpmuludq_ymm_ymm_ymmm256, EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64;
    VEX_Vpabsd_xmm_xmmm128 => VEX_Vpabsd_ymm_ymmm256, EVEX_Vpabsd_zmm_k1z_zmmm512b32;
    VEX_Vpmaxsd_xmm_xmm_xmmm128 => VEX_Vpmaxsd_ymm_ymm_ymmm256, EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpmaxud_xmm_xmm_xmmm128 => VEX_Vpmaxud_ymm_ymm_ymmm256, EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpminsd_xmm_xmm_xmmm128 => VEX_Vpminsd_ymm_ymm_ymmm256, EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpminud_xmm_xmm_xmmm128 => VEX_Vpminud_ymm_ymm_ymmm256, EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpslld_xmm_xmm_imm8 => VEX_Vpslld_ymm_ymm_imm8, EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
    VEX_Vpsllq_xmm_xmm_imm8 => VEX_Vpsllq_ymm_ymm_imm8, EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8;
    VEX_Vpsrld_xmm_xmm_imm8 => VEX_Vpsrld_ymm_ymm_imm8, EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8;
    VEX_Vpsrlq_xmm_xmm_imm8 => VEX_Vpsrlq_ymm_ymm_imm8, EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8;
    VEX_Vpsrad_xmm_xmm_imm8 => VEX_Vpsrad_ymm_ymm_imm8, EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8;
    VEX_Vpand_xmm_xmm_xmmm128 => VEX_Vpand_ymm_ymm_ymmm256, EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpandn_xmm_xmm_xmmm128 => VEX_Vpandn_ymm_ymm_ymmm256, EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpor_xmm_xmm_xmmm128 => VEX_Vpor_ymm_ymm_ymmm256, EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
    VEX_Vpxor_xmm_xmm_xmmm128 => VEX_Vpxor_ymm_ymm_ymmm256, EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
    VEX_Vroundps_xmm_xmmm128_imm8 => VEX_Vroundps_ymm_ymmm256_imm8, EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae;
    VEX_Vroundpd_xmm_xmmm128_imm8 => VEX_Vroundpd_ymm_ymmm256_imm8, EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae;
    EVEX_Vpmullq_xmm_k1z_xmm_xmmm128b64 => EVEX_Vpmullq_ymm_k1z_ymm_ymmm256b64, EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64;
    EVEX_Vpsraq_xmm_k1z_xmmm128b64_imm8 => EVEX_Vpsraq_ymm_k1z_ymmm256b64_imm8, EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8;
    EVEX_Vcvtudq2ps_xmm_k1z_xmmm128b32 => EVEX_Vcvtudq2ps_ymm_k1z_ymmm256b32, EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er;
    EVEX_Vpabsq_xmm_k1z_xmmm128b64 => EVEX_Vpabsq_ymm_k1z_ymmm256b64, EVEX_Vpabsq_zmm_k1z_zmmm512b64;
};

const COUNTED: Rows = rows! {
    VEX_Vpslld_xmm_xmm_xmmm128 => VEX_Vpslld_ymm_ymm_xmmm128, EVEX_Vpslld_zmm_k1z_zmm_xmmm128;
    VEX_Vpsllq_xmm_xmm_xmmm128 => VEX_Vpsllq_ymm_ymm_xmmm128, EVEX_Vpsllq_zmm_k1z_zmm_xmmm128;
    VEX_Vpsrld_xmm_xmm_xmmm128 => VEX_Vpsrld_ymm_ymm_xmmm128, EVEX_Vpsrld_zmm_k1z_zmm_xmmm128;
    VEX_Vpsrlq_xmm_xmm_xmmm128 => VEX_Vpsrlq_ymm_ymm_xmmm128, EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128;
    VEX_Vpsrad_xmm_xmm_xmmm128 => VEX_Vpsrad_ymm_ymm_xmmm128, EVEX_Vpsrad_zmm_k1z_zmm_xmmm128;
};

const SPREAD: Rows = rows! {
    VEX_Vbroadcastss_xmm_m32 => VEX_Vbroadcastss_ymm_m32, EVEX_Vbroadcastss_zmm_k1z_xmmm32;
    VEX_Vbroadcastss_xmm_xmm => VEX_Vbroadcastss_ymm_xmm, EVEX_Vbroadcastss_zmm_k1z_xmmm32;
    VEX_Vpbroadcastd_xmm_xmmm32 => VEX_Vpbroadcastd_ymm_xmmm32, EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
    VEX_Vpbroadcastq_xmm_xmmm64 => VEX_Vpbroadcastq_ymm_xmmm64, EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
};

const FROM_HALF: Rows = rows! {
    VEX_Vpmovzxbw_xmm_xmmm64 => VEX_Vpmovzxbw_ymm_xmmm128, EVEX_Vpmovzxbw_zmm_k1z_ymmm256;
    VEX_Vpmovzxwd_xmm_xmmm64 => VEX_Vpmovzxwd_ymm_xmmm128, EVEX_Vpmovzxwd_zmm_k1z_ymmm256;
    VEX_Vpmovzxdq_xmm_xmmm64 => VEX_Vpmovzxdq_ymm_xmmm128, EVEX_Vpmovzxdq_zmm_k1z_ymmm256;
    VEX_Vpmovsxbw_xmm_xmmm64 => VEX_Vpmovsxbw_ymm_xmmm128, EVEX_Vpmovsxbw_zmm_k1z_ymmm256;
    VEX_Vpmovsxwd_xmm_xmmm64 => VEX_Vpmovsxwd_ymm_xmmm128, EVEX_Vpmovsxwd_zmm_k1z_ymmm256;
    VEX_Vpmovsxdq_xmm_xmmm64 => VEX_Vpmovsxdq_ymm_xmmm128, EVEX_Vpmovsxdq_zmm_k1z_ymmm256;
};

const FROM_QUARTER: Rows = rows! {
    VEX_Vpmovzxbd_xmm_xmmm32 => VEX_Vpmovzxbd_ymm_xmmm64, EVEX_Vpmovzxbd_zmm_k1z_xmmm128;
    VEX_Vpmovsxbd_xmm_xmmm32 => VEX_Vpmovsxbd_ymm_xmmm64, EVEX_Vpmovsxbd_zmm_k1z_xmmm128;
};

const fn compare(narrow: Code, mask: Code, lanes: Lanes) -> Form {
    Form::Compare {
        narrow,
        mask,
        lanes,
    }
}

const fn blend(narrow: Code, blend: Code, lanes: Lanes) -> Form {
    Form::Blend {
        narrow,
        blend,
        lanes,
    }
}

const OTHERS: &[(Code, Form)] = &[
    (
        VEX_Vcmpps_xmm_xmm_xmmm128_imm8,
        compare(
            VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
            EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
            Lanes::Single,
        ),
    ),
    (
        VEX_Vcmppd_xmm_xmm_xmmm128_imm8,
        compare(
            VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
            EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
            Lanes::Double,
        ),
    ),
    (
        VEX_Vpcmpeqd_xmm_xmm_xmmm128,
        compare(
            VEX_Vpcmpeqd_ymm_ymm_ymmm256,
            EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32,
            Lanes::Single,
        ),
    ),
    (
        VEX_Vpcmpgtd_xmm_xmm_xmmm128,
        compare(
            VEX_Vpcmpgtd_ymm_ymm_ymmm256,
            EVEX_Vpcmpgtd_kr_k1_zmm_zmmm512b32,
            Lanes::Single,
        ),
    ),
    (
        VEX_Vpcmpeqq_xmm_xmm_xmmm128,
        compare(
            VEX_Vpcmpeqq_ymm_ymm_ymmm256,
            EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64,
            Lanes::Double,
        ),
    ),
    (
        VEX_Vpcmpgtq_xmm_xmm_xmmm128,
        compare(
            VEX_Vpcmpgtq_ymm_ymm_ymmm256,
            EVEX_Vpcmpgtq_kr_k1_zmm_zmmm512b64,
            Lanes::Double,
        ),
    ),
    (
        VEX_Vblendvps_xmm_xmm_xmmm128_xmm,
        blend(
            VEX_Vblendvps_ymm_ymm_ymmm256_ymm,
            EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32,
            Lanes::Single,
        ),
    ),
    (
        VEX_Vblendvpd_xmm_xmm_xmmm128_xmm,
        blend(
            VEX_Vblendvpd_ymm_ymm_ymmm256_ymm,
            EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64,
            Lanes::Double,
        ),
    ),
    (
        VEX_Vpblendvb_xmm_xmm_xmmm128_xmm,
        blend(
            VEX_Vpblendvb_ymm_ymm_ymmm256_ymm,
            EVEX_Vpblendmb_zmm_k1z_zmm_zmmm512,
            Lanes::Bytes,
        ),
    ),
    (VEX_Vmovups_xmm_xmmm128, Form::Load(Access::Whole)),
    (VEX_Vmovaps_xmm_xmmm128, Form::Load(Access::Whole)),
    (VEX_Vmovupd_xmm_xmmm128, Form::Load(Access::Half)),
    (VEX_Vmovapd_xmm_xmmm128, Form::Load(Access::Half)),
    (VEX_Vmovdqu_xmm_xmmm128, Form::Load(Access::Fixed)),
    (VEX_Vmovdqa_xmm_xmmm128, Form::Load(Access::Fixed)),
    (VEX_Vmovups_xmmm128_xmm, Form::Store(Access::Whole)),
    (VEX_Vmovaps_xmmm128_xmm, Form::Store(Access::Whole)),
    (VEX_Vmovupd_xmmm128_xmm, Form::Store(Access::Half)),
    (VEX_Vmovapd_xmmm128_xmm, Form::Store(Access::Half)),
    (VEX_Vmovdqu_xmmm128_xmm, Form::Store(Access::Fixed)),
    (VEX_Vmovdqa_xmmm128_xmm, Form::Store(Access::Fixed)),
    (VEX_Vpshufd_xmm_xmmm128_imm8, Form::Shuffle),
    (VEX_Vmovddup_xmm_xmmm64, Form::Duplicate),
    (VEX_Vpackssdw_xmm_xmm_xmmm128, Form::Pack { bytes: false }),
    (VEX_Vpacksswb_xmm_xmm_xmmm128, Form::Pack { bytes: true }),
    (
        VEX_Vshufps_xmm_xmm_xmmm128_imm8,
        Form::Across(Across::Alternate),
    ),
    (VEX_Vpunpckldq_xmm_xmm_xmmm128, Form::Across(Across::Low)),
    (VEX_Vpunpckhdq_xmm_xmm_xmmm128, Form::Across(Across::High)),
    (
        VEX_Vmovmskps_r32_xmm,
        Form::Signs {
            narrow: VEX_Vmovmskps_r32_ymm,
            lanes: Lanes::Single,
        },
    ),
    (
        VEX_Vmovmskps_r64_xmm,
        Form::Signs {
            narrow: VEX_Vmovmskps_r64_ymm,
            lanes: Lanes::Single,
        },
    ),
    (
        VEX_Vmovmskpd_r32_xmm,
        Form::Signs {
            narrow: VEX_Vmovmskpd_r32_ymm,
            lanes: Lanes::Double,
        },
    ),
    (
        VEX_Vmovmskpd_r64_xmm,
        Form::Signs {
            narrow: VEX_Vmovmskpd_r64_ymm,
            lanes: Lanes::Double,
        },
    ),
];

const SCALARS: &[Code] = &[
    VEX_Vaddss_xmm_xmm_xmmm32,
    VEX_Vaddsd_xmm_xmm_xmmm64,
    VEX_Vsubss_xmm_xmm_xmmm32,
    VEX_Vsubsd_xmm_xmm_xmmm64,
    VEX_Vmulss_xmm_xmm_xmmm32,
    VEX_Vmulsd_xmm_xmm_xmmm64,
    VEX_Vdivss_xmm_xmm_xmmm32,
    VEX_Vdivsd_xmm_xmm_xmmm64,
    VEX_Vminss_xmm_xmm_xmmm32,
    VEX_Vminsd_xmm_xmm_xmmm64,
    VEX_Vmaxss_xmm_xmm_xmmm32,
    VEX_Vmaxsd_xmm_xmm_xmmm64,
    VEX_Vsqrtss_xmm_xmm_xmmm32,
    VEX_Vsqrtsd_xmm_xmm_xmmm64,
    VEX_Vcvtss2sd_xmm_xmm_xmmm32,
    VEX_Vcvtsd2ss_xmm_xmm_xmmm64,
    VEX_Vfmadd132ss_xmm_xmm_xmmm32,
    VEX_Vfmadd132sd_xmm_xmm_xmmm64,
    VEX_Vfnmadd132ss_xmm_xmm_xmmm32,
    VEX_Vfnmadd132sd_xmm_xmm_xmmm64,
    VEX_Vfmsub132ss_xmm_xmm_xmmm32,
    VEX_Vfmsub132sd_xmm_xmm_xmmm64,
    VEX_Vfmadd213ss_xmm_xmm_xmmm32,
    VEX_Vfmadd213sd_xmm_xmm_xmmm64,
    VEX_Vfnmadd213ss_xmm_xmm_xmmm32,
    VEX_Vfnmadd213sd_xmm_xmm_xmmm64,
    VEX_Vfmsub213ss_xmm_xmm_xmmm32,
    VEX_Vfmsub213sd_xmm_xmm_xmmm64,
    VEX_Vfmadd231ss_xmm_xmm_xmmm32,
    VEX_Vfmadd231sd_xmm_xmm_xmmm64,
    VEX_Vfnmadd231ss_xmm_xmm_xmmm32,
    VEX_Vfnmadd231sd_xmm_xmm_xmmm64,
    VEX_Vfmsub231ss_xmm_xmm_xmmm32,
    VEX_Vfmsub231sd_xmm_xmm_xmmm64,
    VEX_Vfnmsub132ss_xmm_xmm_xmmm32,
    VEX_Vfnmsub132sd_xmm_xmm_xmmm64,
    VEX_Vfnmsub213ss_xmm_xmm_xmmm32,
    VEX_Vfnmsub213sd_xmm_xmm_xmmm64,
    VEX_Vfnmsub231ss_xmm_xmm_xmmm32,
    VEX_Vfnmsub231sd_xmm_xmm_xmmm64,
    VEX_Vucomiss_xmm_xmmm32,
    VEX_Vcomiss_xmm_xmmm32,
    VEX_Vucomisd_xmm_xmmm64,
    VEX_Vcomisd_xmm_xmmm64,
    VEX_Vroundss_xmm_xmm_xmmm32_imm8,
    VEX_Vroundsd_xmm_xmm_xmmm64_imm8,
    VEX_Vcvtsi2ss_xmm_xmm_rm32,
    VEX_Vcvttss2si_r32_xmmm32,
    VEX_Vcvtsi2ss_xmm_xmm_rm64,
    VEX_Vcvttss2si_r64_xmmm32,
    VEX_Vcvtsi2sd_xmm_xmm_rm32,
    VEX_Vcvttsd2si_r32_xmmm64,
    VEX_Vcvtsi2sd_xmm_xmm_rm64,
    VEX_Vcvttsd2si_r64_xmmm64,
    VEX_Vmovd_xmm_rm32,
    VEX_Vmovd_rm32_xmm,
    VEX_Vmovq_xmm_rm64,
    VEX_Vmovq_rm64_xmm,
    VEX_Vmovq_xmm_xmmm64,
    VEX_Vmovq_xmmm64_xmm,
    VEX_Vmovss_xmm_m32,
    VEX_Vmovss_m32_xmm,
    VEX_Vmovss_xmm_xmm_xmm,
    VEX_Vmovsd_xmm_m64,
    VEX_Vmovsd_m64_xmm,
    VEX_Vmovsd_xmm_xmm_xmm,
    VEX_Vcmpss_xmm_xmm_xmmm32_imm8,
    VEX_Vcmpsd_xmm_xmm_xmmm64_imm8,
];

/// Their result takes the place of an operand.
const FUSED: &[Code] = &[
    VEX_Vfmadd132pd_xmm_xmm_xmmm128,
    VEX_Vfmadd132ps_xmm_xmm_xmmm128,
    VEX_Vfmadd213pd_xmm_xmm_xmmm128,
    VEX_Vfmadd213ps_xmm_xmm_xmmm128,
    VEX_Vfmadd231pd_xmm_xmm_xmmm128,
    VEX_Vfmadd231ps_xmm_xmm_xmmm128,
    VEX_Vfmsub132pd_xmm_xmm_xmmm128,
    VEX_Vfmsub132ps_xmm_xmm_xmmm128,
    VEX_Vfmsub213pd_xmm_xmm_xmmm128,
    VEX_Vfmsub213ps_xmm_xmm_xmmm128,
    VEX_Vfmsub231pd_xmm_xmm_xmmm128,
    VEX_Vfmsub231ps_xmm_xmm_xmmm128,
    VEX_Vfnmadd132pd_xmm_xmm_xmmm128,
    VEX_Vfnmadd132ps_xmm_xmm_xmmm128,
    VEX_Vfnmadd213pd_xmm_xmm_xmmm128,
    VEX_Vfnmadd213ps_xmm_xmm_xmmm128,
    VEX_Vfnmadd231pd_xmm_xmm_xmmm128,
    VEX_Vfnmadd231ps_xmm_xmm_xmmm128,
    VEX_Vfnmsub132pd_xmm_xmm_xmmm128,
    VEX_Vfnmsub132ps_xmm_xmm_xmmm128,
    VEX_Vfnmsub213pd_xmm_xmm_xmmm128,
    VEX_Vfnmsub213ps_xmm_xmm_xmmm128,
    VEX_Vfnmsub231pd_xmm_xmm_xmmm128,
    VEX_Vfnmsub231ps_xmm_xmm_xmmm128,
];

/// Cranelift spills and copies with old encodings, and some of its sequences for scalars have them; next to wide
/// code they cost time.
const OLD: &[(Code, Code)] = &[
    (Movups_xmm_xmmm128, VEX_Vmovups_xmm_xmmm128),
    (Movups_xmmm128_xmm, VEX_Vmovups_xmmm128_xmm),
    (Movaps_xmm_xmmm128, VEX_Vmovaps_xmm_xmmm128),
    (Movaps_xmmm128_xmm, VEX_Vmovaps_xmmm128_xmm),
    (Movupd_xmm_xmmm128, VEX_Vmovupd_xmm_xmmm128),
    (Movupd_xmmm128_xmm, VEX_Vmovupd_xmmm128_xmm),
    (Movapd_xmm_xmmm128, VEX_Vmovapd_xmm_xmmm128),
    (Movapd_xmmm128_xmm, VEX_Vmovapd_xmmm128_xmm),
    (Movdqu_xmm_xmmm128, VEX_Vmovdqu_xmm_xmmm128),
    (Movdqu_xmmm128_xmm, VEX_Vmovdqu_xmmm128_xmm),
    (Movdqa_xmm_xmmm128, VEX_Vmovdqa_xmm_xmmm128),
    (Movdqa_xmmm128_xmm, VEX_Vmovdqa_xmmm128_xmm),
    (Ucomiss_xmm_xmmm32, VEX_Vucomiss_xmm_xmmm32),
    (Comiss_xmm_xmmm32, VEX_Vcomiss_xmm_xmmm32),
    (Cvttss2si_r32_xmmm32, VEX_Vcvttss2si_r32_xmmm32),
    (Cvtsi2ss_xmm_rm32, VEX_Vcvtsi2ss_xmm_xmm_rm32),
    (Cvttss2si_r64_xmmm32, VEX_Vcvttss2si_r64_xmmm32),
    (Cvtsi2ss_xmm_rm64, VEX_Vcvtsi2ss_xmm_xmm_rm64),
    (Addss_xmm_xmmm32, VEX_Vaddss_xmm_xmm_xmmm32),
    (Subss_xmm_xmmm32, VEX_Vsubss_xmm_xmm_xmmm32),
    (Mulss_xmm_xmmm32, VEX_Vmulss_xmm_xmm_xmmm32),
    (Divss_xmm_xmmm32, VEX_Vdivss_xmm_xmm_xmmm32),
    (Minss_xmm_xmmm32, VEX_Vminss_xmm_xmm_xmmm32),
    (Maxss_xmm_xmmm32, VEX_Vmaxss_xmm_xmm_xmmm32),
    (Sqrtss_xmm_xmmm32, VEX_Vsqrtss_xmm_xmm_xmmm32),
    (Ucomisd_xmm_xmmm64, VEX_Vucomisd_xmm_xmmm64),
    (Comisd_xmm_xmmm64, VEX_Vcomisd_xmm_xmmm64),
    (Cvttsd2si_r32_xmmm64, VEX_Vcvttsd2si_r32_xmmm64),
    (Cvtsi2sd_xmm_rm32, VEX_Vcvtsi2sd_xmm_xmm_rm32),
    (Cvttsd2si_r64_xmmm64, VEX_Vcvttsd2si_r64_xmmm64),
    (Cvtsi2sd_xmm_rm64, VEX_Vcvtsi2sd_xmm_xmm_rm64),
    (Addsd_xmm_xmmm64, VEX_Vaddsd_xmm_xmm_xmmm64),
    (Subsd_xmm_xmmm64, VEX_Vsubsd_xmm_xmm_xmmm64),
    (Mulsd_xmm_xmmm64, VEX_Vmulsd_xmm_xmm_xmmm64),
    (Divsd_xmm_xmmm64, VEX_Vdivsd_xmm_xmm_xmmm64),
    (Minsd_xmm_xmmm64, VEX_Vminsd_xmm_xmm_xmmm64),
    (Maxsd_xmm_xmmm64, VEX_Vmaxsd_xmm_xmm_xmmm64),
    (Sqrtsd_xmm_xmmm64, VEX_Vsqrtsd_xmm_xmm_xmmm64),
    (Movd_xmm_rm32, VEX_Vmovd_xmm_rm32),
    (Movd_rm32_xmm, VEX_Vmovd_rm32_xmm),
    (Movq_xmm_rm64, VEX_Vmovq_xmm_rm64),
    (Movq_rm64_xmm, VEX_Vmovq_rm64_xmm),
    (Movq_xmm_xmmm64, VEX_Vmovq_xmm_xmmm64),
    (Movq_xmmm64_xmm, VEX_Vmovq_xmmm64_xmm),
    (Cvtss2sd_xmm_xmmm32, VEX_Vcvtss2sd_xmm_xmm_xmmm32),
    (Cvtsd2ss_xmm_xmmm64, VEX_Vcvtsd2ss_xmm_xmm_xmmm64),
    (Andps_xmm_xmmm128, VEX_Vandps_xmm_xmm_xmmm128),
    (Andpd_xmm_xmmm128, VEX_Vandpd_xmm_xmm_xmmm128),
    (Andnps_xmm_xmmm128, VEX_Vandnps_xmm_xmm_xmmm128),
    (Andnpd_xmm_xmmm128, VEX_Vandnpd_xmm_xmm_xmmm128),
    (Orps_xmm_xmmm128, VEX_Vorps_xmm_xmm_xmmm128),
    (Orpd_xmm_xmmm128, VEX_Vorpd_xmm_xmm_xmmm128),
    (Xorps_xmm_xmmm128, VEX_Vxorps_xmm_xmm_xmmm128),
    (Xorpd_xmm_xmmm128, VEX_Vxorpd_xmm_xmm_xmmm128),
    (Pand_xmm_xmmm128, VEX_Vpand_xmm_xmm_xmmm128),
    (Pandn_xmm_xmmm128, VEX_Vpandn_xmm_xmm_xmmm128),
    (Por_xmm_xmmm128, VEX_Vpor_xmm_xmm_xmmm128),
    (Pxor_xmm_xmmm128, VEX_Vpxor_xmm_xmm_xmmm128),
    (Paddd_xmm_xmmm128, VEX_Vpaddd_xmm_xmm_xmmm128),
    (Psubd_xmm_xmmm128, VEX_Vpsubd_xmm_xmm_xmmm128),
];

/// Moves of scalars: what replaces them depends on whether they access memory.
pub(super) fn scalar_move(code: Code, is_memory: bool) -> Option<Code> {
    let moves = [
        (Movss_xmm_xmmm32, VEX_Vmovss_xmm_m32, VEX_Vmovss_xmm_xmm_xmm),
        (Movss_xmmm32_xmm, VEX_Vmovss_m32_xmm, VEX_Vmovss_xmm_xmm_xmm),
        (Movsd_xmm_xmmm64, VEX_Vmovsd_xmm_m64, VEX_Vmovsd_xmm_xmm_xmm),
        (Movsd_xmmm64_xmm, VEX_Vmovsd_m64_xmm, VEX_Vmovsd_xmm_xmm_xmm),
    ];
    let (_, memory, register) = moves.into_iter().find(|(old, _, _)| *old == code)?;
    Some(if is_memory { memory } else { register })
}
