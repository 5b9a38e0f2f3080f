//! The inner loops of searching: whole numbers only, or sums in a fixed order,
//! so that every machine finds the same. Each is compiled for several kinds of
//! processor, and the best that the machine has is taken when it runs.

use multiversion::multiversion;

/// Vectors whose sketches lie interleaved, so that they are compared at once.
pub(super) const GROUP: usize = 8;
/// How exactly a query's numbers are weighed against sketches: 4 bits each.
pub(super) const PLANES: usize = 4;
/// Sums of fractions that are kept apart, in a fixed order.
const LANES: usize = 16;

/// Two bits of each of 64 numbers, for each vector of a group. With `high` and
/// `low` they stand for `4 * high + 2 * low - 3`: one of -3, -1, 1 and 3.
#[derive(Clone)]
pub(super) struct Sketch {
    pub(super) high: [u64; GROUP],
    pub(super) low: [u64; GROUP],
}

impl Sketch {
    /// Of vectors that are not there.
    pub(super) const NONE: Self = Self {
        high: [0; GROUP],
        low: [0; GROUP],
    };
}

/// What turns the product with a sketch into a cosine, for each vector of a group.
#[derive(Clone)]
pub(super) struct Correction {
    /// The part of the cosine that the centre gives.
    pub(super) offset: [f32; GROUP],
    /// What the product is worth.
    pub(super) scale: [f32; GROUP],
    /// How far off that is, as a standard deviation.
    pub(super) doubt: [f32; GROUP],
}

impl Correction {
    /// For vectors that are not there: none of them is ever near.
    pub(super) const NONE: Self = Self {
        offset: [f32::NEG_INFINITY; GROUP],
        scale: [0.0; GROUP],
        doubt: [0.0; GROUP],
    };

    /// Enters what was measured of a vector of `width` numbers.
    pub(super) fn set(&mut self, lane: usize, measured: &Measured, width: usize) {
        self.offset[lane] = measured.offset;
        if measured.along > 0.0 {
            // How much longer the vector is than its sketch shows, and how large
            // the part is that the sketch does not show. That part points
            // anywhere, so little of it lies along the query.
            let Measured {
                square,
                along,
                sketched,
                ..
            } = *measured;
            self.scale[lane] = square / along;
            let beside = (square * sketched / (along * along) - 1.0).max(0.0);
            self.doubt[lane] = (square * beside / (width as f32 - 1.0).max(1.0)).sqrt();
        }
    }
}

/// A vector, seen from the centre, beside its sketch.
pub(super) struct Measured {
    /// Its product with the centre.
    pub(super) offset: f32,
    /// Its product with itself.
    pub(super) square: f32,
    /// Its product with its sketch.
    pub(super) along: f32,
    /// The sketch's product with itself.
    pub(super) sketched: f32,
}

/// A query, seen from the centre, against sketches.
pub(super) struct SketchQuery {
    /// For each 64 numbers the bits of their weights; the last counts -8.
    pub(super) planes: Vec<[u64; PLANES]>,
    /// The sum of all weights.
    pub(super) total: i32,
    /// What a weight of 1 stands for.
    pub(super) step: f32,
    /// Added to every cosine.
    pub(super) offset: f32,
    /// How far off a cosine may be: for each vector's `doubt`, and for its `scale`.
    pub(super) doubt: [f32; 2],
}

/// For each group, which of its vectors may have a cosine above `least`: one
/// bit for each.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx512vpopcntdq+avx2+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
    "x86_64+popcnt",
))]
pub(super) fn above(
    query: &SketchQuery,
    sketches: &[Sketch],
    corrections: &[Correction],
    least: f32,
    masks: &mut [u8],
) {
    let words = query.planes.len();
    let groups = sketches.chunks_exact(words).zip(corrections);
    for ((sketches, correction), mask) in groups.zip(masks) {
        let mut high = [[0_u64; GROUP]; PLANES];
        let mut low = [[0_u64; GROUP]; PLANES];
        for (sketch, planes) in sketches.iter().zip(&query.planes) {
            count(&sketch.high, planes, &mut high);
            count(&sketch.low, planes, &mut low);
        }
        let mut found = 0;
        for lane in 0..GROUP {
            let weighed = |counts: &[[u64; GROUP]; PLANES]| {
                counts[0][lane] as i32 + 2 * counts[1][lane] as i32 + 4 * counts[2][lane] as i32
                    - 8 * counts[3][lane] as i32
            };
            let product = 4 * weighed(&high) + 2 * weighed(&low) - 3 * query.total;
            let scale = correction.scale[lane];
            let most = query.offset
                + correction.offset[lane]
                + product as f32 * query.step * scale
                + query.doubt[0] * correction.doubt[lane]
                + query.doubt[1] * scale;
            found |= u8::from(most > least) << lane;
        }
        *mask = found;
    }
}

#[inline(always)]
fn count(bits: &[u64; GROUP], planes: &[u64; PLANES], counts: &mut [[u64; GROUP]; PLANES]) {
    for (counts, plane) in counts.iter_mut().zip(planes) {
        for (count, bits) in counts.iter_mut().zip(bits) {
            *count += u64::from((bits & plane).count_ones());
        }
    }
}

/// The product of a vector's coarse parts with a query of as many numbers, each
/// at the most 2,047: the widest vector's product so fits into 32 bits.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx2+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
))]
pub(super) fn product(coarse: &[i8], query: &[i16]) -> i32 {
    let pairs = coarse.iter().zip(query);
    pairs
        .map(|(coarse, query)| i32::from(*coarse) * i32::from(*query))
        .sum()
}

/// The product of a vector's coarse parts with themselves.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx2+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
))]
pub(super) fn square(coarse: &[i8]) -> i32 {
    coarse
        .iter()
        .map(|coarse| i32::from(*coarse) * i32::from(*coarse))
        .sum()
}

/// Looks at a vector from the centre and sketches it into one lane of a group.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx2+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
))]
pub(super) fn sketch(
    coarse: &[i8],
    inverse: f32,
    centre: &[f32],
    lane: usize,
    sketches: &mut [Sketch],
) -> Measured {
    let mut sums = [[0.0_f32; LANES]; 2];
    let mut apart = [0.0_f32; 64];
    let words = || coarse.chunks(64).zip(centre.chunks(64));
    for (coarse, centre) in words() {
        let mut along = [0.0_f32; 64];
        along[..centre.len()].copy_from_slice(centre);
        seen_from(coarse, inverse, centre, &mut apart);
        let lanes = apart.as_chunks::<LANES>().0.iter();
        for (apart, along) in lanes.zip(along.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                sums[0][lane] += apart[lane] * along[lane];
                sums[1][lane] += apart[lane] * apart[lane];
            }
        }
    }
    let [offset, square] = sums.map(|lanes| lanes.iter().sum::<f32>());
    // Numbers farther out than the root of their mean square are the far ones.
    let far = (square / coarse.len() as f32).sqrt();
    let mut along = [0.0_f32; LANES];
    let mut far_ones = 0;
    for ((coarse, centre), sketch) in words().zip(sketches) {
        seen_from(coarse, inverse, centre, &mut apart);
        apart[coarse.len()..].fill(0.0);
        let (mut high, mut low) = (0_u64, 0_u64);
        for (bit, apart) in apart.iter().enumerate() {
            let (positive, outside) = (*apart > 0.0, apart.abs() > far);
            high |= u64::from(positive) << bit;
            low |= u64::from(positive == outside) << bit;
        }
        for apart in apart.as_chunks::<LANES>().0 {
            for (sum, apart) in along.iter_mut().zip(apart) {
                let size = apart.abs();
                *sum += if size > far { 3.0 * size } else { size };
            }
        }
        far_ones += apart.iter().filter(|apart| apart.abs() > far).count();
        (sketch.high[lane], sketch.low[lane]) = (high, low);
    }
    Measured {
        offset,
        square,
        along: along.iter().sum(),
        sketched: (coarse.len() + 8 * far_ones) as f32,
    }
}

#[inline(always)]
fn seen_from(coarse: &[i8], inverse: f32, centre: &[f32], apart: &mut [f32; 64]) {
    for ((apart, coarse), centre) in apart.iter_mut().zip(coarse).zip(centre) {
        *apart = f32::from(*coarse) * inverse - centre;
    }
}
