import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cosine } from '#keepsake';
import { embed } from '../src/plugin.js';

test('texts that are spelled alike are near', () => {
  const one = embed('parcel delivery');
  const alike = embed('Parcels delivered');
  const other = embed('green tea');
  assert.ok(cosine(one, alike) > 0.5, String(cosine(one, alike)));
  assert.ok(cosine(one, other) < 0.2, String(cosine(one, other)));
});

test('each vector has length 1 or holds nothing', () => {
  assert.ok(Math.abs(cosine(embed('tea'), embed('tea')) - 1) < 1e-6);
  assert.ok(embed('?!').every((value) => value === 0));
});
