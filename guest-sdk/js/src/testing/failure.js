// What the component's imports throw: an error with the WIT package's own as
// its payload.

class ComponentError extends Error {
  constructor(payload) {
    super(`host error: ${payload.tag}`);
    this.payload = payload;
  }
}

function fail(tag, val) {
  throw new ComponentError({ tag, val });
}

export const invalid = (message) => fail('invalid', message);
export const notFound = (message) => fail('not-found', message);
export const unavailable = (message) => fail('unavailable', { message, retryAfterMs: undefined });
export const unsupported = (name) => fail('unsupported', `${name} is not simulated in tests: use the real host`);
