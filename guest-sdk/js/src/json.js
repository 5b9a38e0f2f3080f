// JSON as it travels: text on the outside, values on the inside.

import { KeepsakeError } from './error.js';

/** A value as the text that the host takes. */
export function toJson(value, what = 'the value') {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw KeepsakeError.invalid(`${what} cannot be written as JSON: ${error.message}`);
  }
  // JSON.stringify answers so for undefined, functions and symbols.
  if (text === undefined) throw KeepsakeError.invalid(`${what} is ${typeof value}, which JSON has no form for`);
  return text;
}

export function optionalJson(value, what) {
  return value === undefined || value === null ? undefined : toJson(value, what);
}

export function fromJson(text, what = 'the value') {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw KeepsakeError.invalid(`${what} is not JSON: ${error.message}`);
  }
}

/** Milliseconds and counts, which the host takes as 64 bits. */
export function toU64(number, what) {
  if (number === undefined || number === null) return undefined;
  const whole = number instanceof Date ? number.getTime() : number;
  if (!Number.isSafeInteger(whole) || whole < 0) {
    throw KeepsakeError.invalid(`${what} is ${number}, and must be a whole number from 0`);
  }
  return BigInt(whole);
}

/** Exact up to 2^53, which milliseconds reach in 285,000 years. */
export function fromU64(number) {
  return number === undefined ? undefined : Number(number);
}

const encoder = new TextEncoder();

/** How long a text is in UTF-8, which all bounds are told in. */
export function byteLength(text) {
  return encoder.encode(text).length;
}

/** The beginning of a text in at most so many bytes, cut between characters. */
export function firstBytes(text, bound) {
  const bytes = encoder.encode(text);
  if (bytes.length <= bound) return text;
  let end = bound;
  // Bytes 10xxxxxx are within a character.
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

/** The end of a text in at most so many bytes, cut between characters. */
export function lastBytes(text, bound) {
  const bytes = encoder.encode(text);
  let begin = Math.max(0, bytes.length - bound);
  while (begin < bytes.length && (bytes[begin] & 0xc0) === 0x80) begin += 1;
  return new TextDecoder().decode(bytes.subarray(begin));
}
