//! The vectors of one scope and one model in memory, and searching them.
//!
//! Searching narrows down: sketches tell which vectors may be near enough, their
//! coarse parts tell which of those are, and what remains is for the caller to
//! rank by what the file holds. How far off each guess may be is part of it, so
//! that narrowing down drops what is too far and not what looks too far.

use super::code::Probe;
use super::scan::{self, Correction, GROUP, PLANES, Sketch, SketchQuery};

/// Vectors that lie together in memory. What is searched is known after the
/// first of these, so a bound rises early.
const CHUNK: usize = 1_024;
/// From how many vectors on sketches are worth their memory: below, reading all
/// coarse parts is as fast.
const SKETCHES_FROM: usize = 4 * CHUNK;
/// From which width on: sketches of few numbers say too little.
const SKETCHES_WIDTH: usize = 64;
/// How many standard deviations a guess by a sketch may be off. Past this lies
/// one of some hundred vectors, which is then missed if it is among the nearest.
const SKETCH_DOUBT: f32 = 2.3;
/// The same for coarse parts: six of them, past which nothing ever lies.
const COARSE_DOUBT: f32 = 1.75;
/// A query's largest number against coarse parts; see [`scan::product`].
const QUERY_LARGEST: f32 = 2_047.0;
/// Vectors that are as near as the last one wanted and come along with it.
const NEAR_TIES: usize = 1_000;

/// The vectors of one scope and one model, by ascending number of the fact.
#[derive(Default)]
pub(super) struct Index {
    width: usize,
    chunks: Vec<Chunk>,
    /// What sketches are drawn around: the mean of the first chunk, which is the
    /// same however the index came about.
    centre: Vec<f32>,
}

#[derive(Default)]
struct Chunk {
    /// The lower half of each fact's number.
    facts: Vec<u32>,
    /// `width` bytes for each fact.
    coarse: Vec<i8>,
    /// One over the length of the coarse parts; 0 for a vector without length.
    inverse: Vec<f32>,
    /// For each group of vectors, 64 numbers after the 64 before; none until the
    /// index is large.
    sketches: Vec<Sketch>,
    corrections: Vec<Correction>,
    /// How many vectors are sketched.
    sketched: usize,
}

/// A vector that may be among the nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    /// The lower half of the fact's number.
    pub(super) fact: u32,
    /// About its cosine.
    score: f32,
    /// How far off that may be.
    doubt: f32,
}

impl Index {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn len(&self) -> usize {
        self.chunks
            .last()
            .map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.facts.len())
    }

    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(Chunk::bytes).sum();
        size_of::<Self>() + chunks + self.centre.capacity() * size_of::<f32>()
    }

    /// About how many bytes each further vector takes.
    pub(super) fn bytes_each(width: usize) -> usize {
        size_of::<u32>()
            + size_of::<f32>()
            + width
            + width.div_ceil(64) * size_of::<Sketch>() / GROUP
            + size_of::<Correction>() / GROUP
    }

    /// Adds a vector by its coarse parts, `width` of them. Facts come in
    /// ascending order.
    pub(super) fn push(&mut self, fact: u32, coarse: &[u8]) {
        if self
            .chunks
            .last()
            .is_none_or(|last| last.facts.len() == CHUNK)
        {
            self.chunks.push(Chunk::default());
            if self.chunks.len() > 1 {
                // A large scope: the chunk will be filled.
                if let Some(chunk) = self.chunks.last_mut() {
                    chunk.reserve(self.width);
                }
            }
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(fact, coarse);
        }
    }

    /// Brings sketches up to date and gives back spare memory, once all that was
    /// new was added.
    pub(super) fn settle(&mut self) {
        if self.len() >= SKETCHES_FROM && self.width >= SKETCHES_WIDTH {
            if self.centre.is_empty() {
                self.centre = self.chunks[0].mean(self.width);
            }
            for chunk in &mut self.chunks {
                chunk.sketch(self.width, &self.centre);
            }
        } else if let Some(chunk) = self.chunks.last_mut() {
            chunk.shrink();
        }
    }

    /// At least the `want` vectors nearest to the probe, as far as can be told
    /// from here, and those that may be as near as these.
    pub(super) fn nearest(&self, probe: &Probe, want: usize) -> Vec<Near> {
        let mut search = Search::new(probe, want, self.width);
        let sketches = (!self.centre.is_empty()).then(|| sketch_query(probe, &self.centre));
        let mut masks = [0; CHUNK / GROUP];
        for chunk in &self.chunks {
            let least = search.least;
            match &sketches {
                Some(query) if least > f32::NEG_INFINITY => {
                    let masks = &mut masks[..chunk.corrections.len()];
                    scan::above(query, &chunk.sketches, &chunk.corrections, least, masks);
                    for (group, mask) in masks.iter().enumerate() {
                        let mut left = *mask;
                        while left != 0 {
                            search.consider(chunk, group * GROUP + left.trailing_zeros() as usize);
                            left &= left - 1;
                        }
                    }
                }
                _ => (0..chunk.facts.len()).for_each(|place| search.consider(chunk, place)),
            }
        }
        search.finish()
    }
}

impl Chunk {
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.facts.capacity() * size_of::<u32>()
            + self.coarse.capacity()
            + self.inverse.capacity() * size_of::<f32>()
            + self.sketches.capacity() * size_of::<Sketch>()
            + self.corrections.capacity() * size_of::<Correction>()
    }

    fn reserve(&mut self, width: usize) {
        self.facts.reserve_exact(CHUNK);
        self.coarse.reserve_exact(CHUNK * width);
        self.inverse.reserve_exact(CHUNK);
    }

    fn shrink(&mut self) {
        self.facts.shrink_to_fit();
        self.coarse.shrink_to_fit();
        self.inverse.shrink_to_fit();
    }

    fn push(&mut self, fact: u32, coarse: &[u8]) {
        let begin = self.coarse.len();
        self.coarse.extend(coarse.iter().map(|byte| *byte as i8));
        let square = scan::square(&self.coarse[begin..]);
        self.facts.push(fact);
        self.inverse.push(if square > 0 {
            1.0 / (square as f32).sqrt()
        } else {
            0.0
        });
    }

    /// The mean direction.
    fn mean(&self, width: usize) -> Vec<f32> {
        let mut mean = vec![0.0; width];
        for (coarse, inverse) in self.coarse.chunks_exact(width).zip(&self.inverse) {
            for (sum, coarse) in mean.iter_mut().zip(coarse) {
                *sum += f32::from(*coarse) * inverse;
            }
        }
        mean.iter_mut()
            .for_each(|sum| *sum /= self.facts.len() as f32);
        mean
    }

    fn sketch(&mut self, width: usize, centre: &[f32]) {
        if self.sketched == self.facts.len() {
            return;
        }
        let words = width.div_ceil(64);
        // The last group may have had room left.
        let whole = self.sketched / GROUP;
        let groups = self.facts.len().div_ceil(GROUP);
        self.sketches.truncate(whole * words);
        self.corrections.truncate(whole);
        self.sketches.reserve_exact((groups - whole) * words);
        self.corrections.reserve_exact(groups - whole);
        self.sketches.resize(groups * words, Sketch::NONE);
        self.corrections.resize(groups, Correction::NONE);
        for place in whole * GROUP..self.facts.len() {
            let (group, lane) = (place / GROUP, place % GROUP);
            let measured = scan::sketch(
                &self.coarse[place * width..(place + 1) * width],
                self.inverse[place],
                centre,
                lane,
                &mut self.sketches[group * words..(group + 1) * words],
            );
            self.corrections[group].set(lane, &measured, width);
        }
        self.sketched = self.facts.len();
    }
}

/// What was found so far.
struct Search {
    want: usize,
    query: Vec<i16>,
    /// One over the query's length.
    query_inverse: f32,
    /// How far off a score may be: for each vector's `inverse`, and for all.
    doubt: [f32; 2],
    near: Vec<Near>,
    /// How many are kept before the list is pruned.
    room: usize,
    /// What a cosine has to reach.
    least: f32,
}

impl Search {
    fn new(probe: &Probe, want: usize, width: usize) -> Self {
        let largest = probe
            .unit
            .iter()
            .fold(0.0_f32, |most, number| most.max(number.abs()));
        let stretch = if largest > 0.0 {
            QUERY_LARGEST / largest
        } else {
            0.0
        };
        let query: Vec<i16> = probe
            .unit
            .iter()
            .map(|number| (number * stretch).round() as i16)
            .collect();
        let square: i64 = query.iter().map(|number| i64::from(*number).pow(2)).sum();
        let query_inverse = if square > 0 {
            1.0 / (square as f32).sqrt()
        } else {
            0.0
        };
        // Rounding moves each number by a half at the most.
        let rounded = COARSE_DOUBT.min(0.5 * (width as f32).sqrt());
        Self {
            want,
            query,
            query_inverse,
            doubt: [rounded, rounded * query_inverse],
            near: Vec::new(),
            room: 2 * want,
            least: f32::NEG_INFINITY,
        }
    }

    fn consider(&mut self, chunk: &Chunk, place: usize) {
        let width = self.query.len();
        let coarse = &chunk.coarse[place * width..(place + 1) * width];
        let inverse = chunk.inverse[place];
        let score = scan::product(coarse, &self.query) as f32 * inverse * self.query_inverse;
        let doubt = inverse * self.doubt[0] + self.doubt[1];
        if score + doubt >= self.least {
            self.near.push(Near {
                fact: chunk.facts[place],
                score,
                doubt,
            });
            if self.near.len() >= self.room {
                self.prune();
            }
        }
    }

    /// Drops what can no longer be among the nearest.
    fn prune(&mut self) {
        if self.near.len() > self.want && self.want > 0 {
            let mut sure: Vec<f32> = self
                .near
                .iter()
                .map(|near| near.score - near.doubt)
                .collect();
            let (_, last, _) =
                sure.select_nth_unstable_by(self.want - 1, |left, right| right.total_cmp(left));
            self.least = self.least.max(*last);
            let least = self.least;
            self.near.retain(|near| near.score + near.doubt >= least);
        }
        // Vectors that are all as near as each other cannot be told apart here,
        // and are not looked through again at each step.
        self.room = 2 * self.near.len().max(self.want);
    }

    fn finish(mut self) -> Vec<Near> {
        self.prune();
        // The newest first where nothing else decides.
        self.near.sort_unstable_by(|left, right| {
            right
                .score
                .total_cmp(&left.score)
                .then(right.fact.cmp(&left.fact))
        });
        self.near.truncate(self.want.saturating_add(NEAR_TIES));
        self.near
    }
}

/// The query from the centre, in weights of 4 bits.
fn sketch_query(probe: &Probe, centre: &[f32]) -> SketchQuery {
    let apart: Vec<f32> = probe
        .unit
        .iter()
        .zip(centre)
        .map(|(unit, centre)| unit - centre)
        .collect();
    let largest = apart
        .iter()
        .fold(0.0_f32, |most, number| most.max(number.abs()));
    let step = if largest > 0.0 { largest / 7.0 } else { 1.0 };
    let mut planes = vec![[0_u64; PLANES]; apart.len().div_ceil(64)];
    let (mut total, mut square, mut left_out) = (0, 0.0_f32, 0.0_f32);
    for (place, number) in apart.iter().enumerate() {
        let weight = (number / step).round() as i32;
        total += weight;
        square += number * number;
        left_out += (number - weight as f32 * step).powi(2);
        for (bit, plane) in planes[place / 64].iter_mut().enumerate() {
            *plane |= ((weight >> bit) as u64 & 1) << (place % 64);
        }
    }
    let offset = probe
        .unit
        .iter()
        .zip(centre)
        .map(|(unit, centre)| unit * centre)
        .sum();
    SketchQuery {
        planes,
        total,
        step,
        offset,
        // A sketch's numbers are about twice as long as signs would be.
        doubt: [
            SKETCH_DOUBT * square.sqrt(),
            SKETCH_DOUBT * 2.0 * left_out.sqrt(),
        ],
    }
}
