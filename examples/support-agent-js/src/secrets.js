// What must not be kept, where it can be told from its shape. The prompt asks
// the model to leave such things out; this is for when it does not.

import { KeepsakeError } from '#keepsake';

const NAMES =
  'password|passwort|passcode|passphrase|pin(?: code| number)?|cvv|cvc|security code|secret key|api key|access token|client secret|private key';
/** What is said of a secret without giving it: "the password is wrong". */
const NO_VALUES =
  'not|no|never|expired|wrong|incorrect|invalid|forgotten|lost|locked|missing|unknown|required|reset|being|too|working|accepted|rejected';
/** "The password is hunter2", "pin: 1234", "CVV 123". */
const NAMED = new RegExp(
  `(?:^|[^a-z0-9])(?:${NAMES})["']?(?:(?: ?[:=] ?| (?:is|was) )["']?(?!(?:${NO_VALUES})(?:[^a-z0-9]|$))[^ "']| \\d{3,}(?:[^a-z0-9]|$))`,
);
/** How the keys of well-known services begin. */
const KEY = /(?:^|[^\w.-])(?:sk-|sk_live_|sk_test_|rk_live_|gh[pos]_|github_pat_|glpat-|xox[bp]-|AKIA|AIza|eyJ|hf_)[\w.-]{12,}|PRIVATE KEY-----/;
/** Groups of digits with nothing but blanks and dashes between them, and a plus before a phone number. */
const ROWS = /\+?\d+(?:[ .\-\u00a0\u2011\u2013]+\d+)*/g;
/** Digits in the longest phone number with its country (E.164). */
const LONGEST_PHONE = 15;
/** What the brands' numbers begin with, by how long they are. */
const BRANDS = { 13: /^4/, 14: /^3[0689]/, 15: /^3[47]/, 16: /^(?:[456]|2[2-7]|35)/, 19: /^[46]/ };

/** Refuses texts and values with what must not be kept anywhere in them. */
export function refuseSecrets(values) {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue;
    if (typeof value === 'object') refuseSecrets(Array.isArray(value) ? Object.fromEntries(value.map((item, at) => [`${name} ${at}`, item])) : value);
    // With its name, which may be what tells.
    const found = typeof value === 'object' ? undefined : kindOf(String(value)) ?? kindOf(`${name}: ${value}`);
    if (found) throw KeepsakeError.invalid(`this holds what looks like ${found}, which is not kept: leave it out`);
  }
}

export function kindOf(text) {
  if ((text.match(ROWS) ?? []).some(hasCard)) return 'a card number';
  if (KEY.test(text)) return 'a key';
  return NAMED.test(text.toLowerCase().replaceAll(/[-_\s]+/g, ' ')) ? 'a password' : undefined;
}

function hasCard(row) {
  const groups = row.match(/\d+/g);
  return groups.some((_, start) => start >= behindPhone(row, groups) && cardFrom(groups.slice(start)));
}

/** The first group that is no part of a phone number. */
function behindPhone(row, groups) {
  if (!row.startsWith('+')) return 0;
  let digits = 0;
  const first = groups.findIndex((group) => (digits += group.length) > LONGEST_PHONE);
  return first < 0 ? groups.length : first;
}

function cardFrom(groups) {
  let digits = '';
  for (const group of groups) {
    digits += group;
    if (group.length < 3 || digits.length > 19) return false;
    if (BRANDS[digits.length]?.test(digits) && checkDigitHolds(digits)) return true;
  }
  return false;
}

/** ISO/IEC 7812-1, annex B. */
function checkDigitHolds(digits) {
  const doubled = (digit) => (digit > 4 ? digit * 2 - 9 : digit * 2);
  const sum = [...digits].reverse().reduce((total, digit, place) => total + (place % 2 ? doubled(Number(digit)) : Number(digit)), 0);
  return sum % 10 === 0;
}
