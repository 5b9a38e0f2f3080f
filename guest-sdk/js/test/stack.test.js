import assert from 'node:assert/strict';
import { test } from 'node:test';

import { place, readable } from '../src/component/stack.js';

// The third line of the bundle is line 9 of the second source, from column 3.
const sources = { names: ['vendor/sdk.js', 'src/plugin.ts'], mappings: 'AAAA;AACA;ECOE,KAAK;AACP' };

test('a stack names the lines of the sources', () => {
  const stack = readable('boom@plugin.js:3:9\nasync*handle@plugin.js:1:1\n@plugin.js:1:2\n', sources);
  assert.equal(
    stack,
    '  at boom (src/plugin.ts:9:8)\n  at handle (vendor/sdk.js:1:1)\n  at top level (vendor/sdk.js:1:1)',
  );
});

test('the place of a fault is the innermost line of the author', () => {
  const stack = readable('ask@plugin.js:1:1\nboom@plugin.js:3:2\n', sources);
  assert.equal(place(stack), 'src/plugin.ts:9:3');
  assert.equal(place(''), undefined);
});

test('what the engine calls by itself is left out', () => {
  assert.equal(readable('boom@initializer.js:16605:36', sources), '');
});

test('without a map the places of the bundle are better than none', () => {
  assert.equal(readable('boom@plugin.js:3:9', undefined), '  at boom (plugin.js:3:9)');
});
