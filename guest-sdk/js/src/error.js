// Why a call was not carried out, in the cases of the WIT package.

const CASES = new Set(['denied', 'not-found', 'invalid', 'unavailable', 'limit', 'unsupported', 'internal']);

/**
 * A failure that the other side can act on. Throwing one from `handle` ends the
 * turn with that error; any other error is taken for a fault in the plugin.
 */
export class KeepsakeError extends Error {
  constructor(code, message, { limit, retryAfterMs } = {}) {
    super(message);
    this.name = 'KeepsakeError';
    this.code = code;
    this.limit = limit;
    this.retryAfterMs = retryAfterMs;
  }

  static denied = (message) => new KeepsakeError('denied', message);
  static notFound = (message) => new KeepsakeError('not-found', message);
  static invalid = (message) => new KeepsakeError('invalid', message);
  static unavailable = (message, retryAfterMs) => new KeepsakeError('unavailable', message, { retryAfterMs });
  static limit = (limit, message) => new KeepsakeError('limit', message, { limit });
  static unsupported = (message) => new KeepsakeError('unsupported', message);
  static internal = (message) => new KeepsakeError('internal', message);
}

/** An error of the WIT package as one that is thrown. */
export function fromWit({ tag, val }) {
  switch (tag) {
    case 'unavailable':
      return KeepsakeError.unavailable(val.message, optionalNumber(val.retryAfterMs));
    case 'limit':
      return KeepsakeError.limit(val.name, val.message);
    case 'other':
      return new KeepsakeError(val.code, val.message);
    default:
      return new KeepsakeError(tag, val);
  }
}

/** The other way round. */
export function toWit(error) {
  const { code, message } = error;
  if (!CASES.has(code)) return { tag: 'other', val: { code, message } };
  if (code === 'unavailable') {
    const wait = error.retryAfterMs;
    const retryAfterMs = wait === undefined ? undefined : BigInt(Math.max(0, Math.round(wait)));
    return { tag: code, val: { message, retryAfterMs } };
  }
  if (code === 'limit') return { tag: code, val: { name: error.limit ?? 'plugin', message } };
  return { tag: code, val: message };
}

/** Asks the host; its errors come out as {@link KeepsakeError}. */
export function ask(question) {
  try {
    return question();
  } catch (error) {
    const payload = error?.payload;
    if (payload === undefined || typeof payload?.tag !== 'string') throw error;
    throw fromWit(payload);
  }
}

function optionalNumber(value) {
  return value === undefined ? undefined : Number(value);
}
