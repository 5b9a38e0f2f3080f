import assert from 'node:assert/strict';
import { test } from 'node:test';

import { kindOf, refuseSecrets } from '../src/secrets.js';

test('what must not be kept is told by its shape', () => {
  for (const [text, wanted] of [
    ["Jordan's card is 4111 1111 1111 1111.", 'a card number'],
    ['4111-1111-1111-1111 12/27', 'a card number'],
    ['4111 1111 1111 1111 12 27 123', 'a card number'],
    ['on 03 12 it was 4111111111111111', 'a card number'],
    ['4111\u00a01111\u00a01111\u00a01111', 'a card number'],
    ['+49 151 12345678 4111 1111 1111 1111', 'a card number'],
    ['Amex 3782 822463 10005', 'a card number'],
    ["Jordan's password is hunter2.", 'a password'],
    ['Password: "hunter2"', 'a password'],
    ['password:hunter2', 'a password'],
    ['the PIN was 1234', 'a password'],
    ['CVV 123', 'a password'],
    ['api_key = abc', 'a password'],
    ['the security code is 737', 'a password'],
    ['uses ghp_0123456789abcdefABCDEF', 'a key'],
    ['-----BEGIN RSA PRIVATE KEY-----', 'a key'],
  ]) {
    assert.equal(kindOf(text), wanted, text);
  }
});

test('what only resembles it is kept', () => {
  for (const text of [
    '',
    "Jordan's order number is 4111 1111 1111 1112.",
    'Jordan called on the 3rd, case A-1042.',
    "Jordan's phone number is +3782 822463 10005.",
    'The IMEI is 356938035643809.',
    "Jordan's password is not accepted.",
    'Jordan forgot the password.',
    'The shopping is late, and the spin is fast.',
    'Jordan lost a pin 4 of the plug',
    'It came on 2026-12-02 at 10.30, 1 of 3.',
    'task-force sk-8 eyJ',
    'the password:',
  ]) {
    assert.equal(kindOf(text), undefined, text);
  }
});

test('a value is read together with its name', () => {
  for (const value of [
    { password: 'hunter2' },
    { account: { 'api-key': 'abc' } },
    { cards: [4_111_111_111_111_111] },
    { note: 'my pin is 1234' },
    { pin: 1234 },
  ]) {
    assert.throws(() => refuseSecrets(value), /not kept/, JSON.stringify(value));
  }
  refuseSecrets({ name: 'Jordan', seats: 3, tags: ['a', null], pinned: true });
});
