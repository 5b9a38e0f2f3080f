// The smallest embedding provider: hashed pieces of words. It knows no meaning,
// but any language, and finds words that are spelled alike.

import { defineEmbeddingProvider, normalise } from '#keepsake';

const DIMENSIONS = 256;
/** What is longer takes too long; the host gives longer texts in parts. */
const MAX_TEXT_BYTES = 4096;
/** As many long ones as one call has the time for. */
const MAX_TEXTS = 32;

/** Spaces and ASCII's punctuation: the engine does not know `\p{L}`. */
const BETWEEN_WORDS = /[\s!-/:-@[-`{-~]+/;

export default defineEmbeddingProvider({
  info: () => ({ model: 'hashed-trigrams-256', dimensions: DIMENSIONS, maxTextBytes: MAX_TEXT_BYTES, maxTexts: MAX_TEXTS }),
  embed: (context, texts) => texts.map(embed),
});

/** Counts each run of three characters of each word, by its hash. */
export function embed(text) {
  const vector = new Float32Array(DIMENSIONS);
  for (const word of text.slice(0, MAX_TEXT_BYTES).toLowerCase().split(BETWEEN_WORDS)) {
    if (word === '') continue;
    const characters = [...`<${word}>`];
    for (let begin = 0; begin + 3 <= characters.length; begin += 1) {
      vector[hash(characters.slice(begin, begin + 3)) % DIMENSIONS] += 1;
    }
  }
  return normalise(vector);
}

/** The hash FNV-1a with 32 bits, over characters instead of bytes. */
function hash(characters) {
  let value = 0x811c9dc5;
  for (const character of characters) value = Math.imul(value ^ character.codePointAt(0), 0x01000193);
  return value >>> 0;
}
