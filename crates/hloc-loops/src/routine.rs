//! Library routines that are no products: what they are asked to do, and on what.

use hloc_ir::attr::{DimLabels, Window};
use hloc_ir::words::{FftType, RngAlgorithm, Transpose};
use hloc_ir::{ArrayShape, CompareType, CustomCallHandler};

use crate::ir::KernelId;

/// A call of a [`Routine`] on row-major arrays of these shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineCall {
    /// What is asked.
    pub routine: Routine,
    /// Element type and dimensions of each array read.
    pub inputs: Vec<ArrayShape>,
    /// Element type and dimensions of each array written.
    pub outputs: Vec<ArrayShape>,
}

/// What a library routine does with its inputs.
///
/// Matrices are the last two dimensions of their array; the dimensions before them count matrices.
#[derive(Clone, Debug, PartialEq)]
pub enum Routine {
    /// Permutes arrays of equal dimensions together, along one dimension, stably.
    Sort {
        /// The dimension along which elements move.
        dimension: usize,
        /// By what.
        order: SortOrder,
    },
    /// Values and `s32` indices of the first elements of each row in order; NaN counts as greatest.
    TopK {
        /// Whether the greatest come first.
        largest: bool,
    },
    /// Fourier transforms over the last dimensions.
    Fft {
        /// The kind of transform.
        fft_type: FftType,
        /// How many dimensions are transformed.
        dimensions: usize,
    },
    /// Sums of products of a sliding kernel; floats and complex.
    Convolution(Box<Convolution>),
    /// A new state and random bits.
    RngBits {
        /// Which generator.
        algorithm: RngAlgorithm,
    },
    /// The counter behind `rng`, two words, before it moves on. It belongs to the run.
    RngState {
        /// How far it moves.
        delta: i64,
    },
    /// The Cholesky factor of each matrix; NaN throughout where there is none.
    Cholesky {
        /// Whether the lower triangle is read and written.
        lower: bool,
    },
    /// Equations with a triangular matrix.
    TriangularSolve(Triangular),
    /// A routine of LAPACK as `jaxlib` wraps it.
    Lapack(Lapack),
    /// A custom call that the program around hloc answers.
    Registered(Registered),
}

impl Routine {
    /// Name for dumps and errors.
    pub fn name(&self) -> &'static str {
        match self {
            Routine::Sort { .. } => "sort",
            Routine::TopK { .. } => "topk",
            Routine::Fft { .. } => "fft",
            Routine::Convolution(_) => "convolution",
            Routine::RngBits { .. } => "rng-bit-generator",
            Routine::RngState { .. } => "rng-get-and-update-state",
            Routine::Cholesky { .. } => "cholesky",
            Routine::TriangularSolve(_) => "triangular-solve",
            Routine::Lapack(lapack) => lapack.name(),
            Routine::Registered(_) => "custom-call",
        }
    }
}

/// A custom call with what answers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    /// The name that is called.
    pub target: Box<str>,
    /// The text of `backend_config`.
    pub backend_config: Box<str>,
    /// What answers.
    pub handler: CustomCallHandler,
}

/// How a kernel slides over an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolution {
    /// One entry per spatial dimension.
    pub window: Window,
    /// Which dimension is what.
    pub labels: DimLabels,
    /// Groups of input features.
    pub feature_groups: i64,
    /// Groups of batch elements.
    pub batch_groups: i64,
}

/// What decides which element comes first.
#[derive(Clone, Debug, PartialEq)]
pub enum SortOrder {
    /// The first inputs are keys, the most significant first, one for each entry; the other inputs are
    /// the arrays to permute.
    Keys(Vec<SortKey>),
    /// A kernel with two parameters of one element for each array (of the element to be asked about and
    /// of the other) and a `pred` that it writes: whether the one comes before the other.
    Comparator(KernelId),
}

/// How one key is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// By which order; a pair that this leaves unordered or equal is decided by the next key if equal,
    /// and keeps its order if not.
    pub order: CompareType,
    /// Whether greater keys come first.
    pub descending: bool,
}

/// Which triangular equations are solved: op(a)·x = b or x·op(a) = b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangular {
    /// Whether the matrix stands left of the unknowns.
    pub left_side: bool,
    /// Whether the lower triangle is read.
    pub lower: bool,
    /// Whether the diagonal counts as ones.
    pub unit_diagonal: bool,
    /// How the matrix is read.
    pub transpose: Transpose,
}

/// The wrapped routines of LAPACK. Status outputs hold 0 or what LAPACK says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lapack {
    /// LU factors with row exchanges: matrix, pivots from 1, status.
    Getrf,
    /// Cholesky factor; the other triangle keeps its values: matrix, status.
    Potrf {
        /// Which triangle.
        lower: bool,
    },
    /// QR by reflections: matrix, factors.
    Geqrf,
    /// The orthogonal matrix that reflections make: matrix.
    Orgqr,
    /// Eigenvalues of a self-adjoint matrix: vectors, values, status.
    Syevd {
        /// Which triangle is read.
        lower: bool,
        /// Whether vectors are wanted.
        vectors: bool,
    },
    /// Singular values: matrix (used up), values, left vectors, right vectors, status.
    Gesdd {
        /// Whether vectors are wanted.
        vectors: bool,
    },
    /// Eigenvalues: values (real and imaginary parts of a real matrix's), left and right vectors, status.
    Geev {
        /// Whether left vectors are wanted.
        left: bool,
        /// Whether right vectors are wanted.
        right: bool,
    },
    /// Schur form: matrix, vectors, values (as `Geev`), how many were selected (0), status.
    Gees {
        /// Whether vectors are wanted.
        vectors: bool,
    },
    /// Equations with a triangular matrix: unknowns.
    Trsm(Triangular),
    /// Equations with a tridiagonal matrix: three diagonals (used up), unknowns, status.
    Gtsv,
    /// Tridiagonal form of a self-adjoint matrix: matrix, diagonal, second diagonal, factors, status.
    Sytrd {
        /// Which triangle is used.
        lower: bool,
    },
    /// Hessenberg form: matrix, factors, status.
    Gehrd {
        /// First row of the part that is not triangular yet, from 1.
        low: i64,
        /// Last such row, from 1.
        high: i64,
    },
}

impl Lapack {
    /// The routine's name without the letter of its element type.
    pub fn name(self) -> &'static str {
        match self {
            Lapack::Getrf => "getrf",
            Lapack::Potrf { .. } => "potrf",
            Lapack::Geqrf => "geqrf",
            Lapack::Orgqr => "orgqr",
            Lapack::Syevd { .. } => "syevd",
            Lapack::Gesdd { .. } => "gesdd",
            Lapack::Geev { .. } => "geev",
            Lapack::Gees { .. } => "gees",
            Lapack::Trsm(_) => "trsm",
            Lapack::Gtsv => "gtsv",
            Lapack::Sytrd { .. } => "sytrd",
            Lapack::Gehrd { .. } => "gehrd",
        }
    }
}
