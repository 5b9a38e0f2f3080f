//! Says how many texts a second the model embeds here. Runs natively and, built
//! for wasm32-wasip2, in any WASI runtime.

use std::time::Instant;

use embed_static::{embed, tokenize};

const BATCH: usize = 2_000;
const BATCHES: usize = 50;

fn main() {
    let sentences = [
        "Maria switched from the Starter tier to the Business tier on 3 March.",
        "The router at Mrs Kowalski's house loses its connection every evening.",
        "Sofia is allergic to nuts and asks for ingredients on every order.",
        "Helen pays by bank transfer because her credit card was stolen.",
    ];
    let texts: Vec<String> = sentences
        .iter()
        .cycle()
        .take(BATCH)
        .map(|s| (*s).to_owned())
        .collect();
    let tokens: usize = sentences
        .iter()
        .map(|sentence| tokenize(sentence).len())
        .sum();
    let start = Instant::now();
    let sum: f32 = (0..BATCHES)
        .map(|_| embed(&texts).iter().map(|vector| vector[0]).sum::<f32>())
        .sum();
    let rate = (BATCH * BATCHES) as f64 / start.elapsed().as_secs_f64();
    println!(
        "{rate:.0} texts/s, {:.1} wordpieces a text (sum {sum:.3})",
        tokens as f64 / sentences.len() as f64
    );
}
