// Calls that a model makes again and again, though they tell it nothing new.

/**
 * How often the same call may give the same answer while nothing else new is
 * learned. After that it is not run any more.
 */
export const SAME_ANSWERS = 3;

/**
 * What calls have answered so far. A call that is made again is no fault by
 * itself: a test that fails is run again after each change. It is one where
 * nothing new came of anything since.
 */
export class Repeats {
  #calls = new Map();

  /** How often the call has given its last answer, if that was too often. */
  tooOften(call) {
    const times = this.#calls.get(key(call))?.times ?? 0;
    return times >= SAME_ANSWERS ? times : undefined;
  }

  answered(call, answer) {
    const past = this.#calls.get(key(call));
    if (past?.answer === answer) {
      past.times += 1;
      return;
    }
    for (const other of this.#calls.values()) other.times = 0;
    this.#calls.set(key(call), { answer, times: 1 });
  }
}

/** A call by its name and arguments, however those are spaced and ordered. */
function key({ name, arguments: given }) {
  try {
    return `${name} ${JSON.stringify(sorted(JSON.parse(given)))}`;
  } catch {
    return `${name} ${given}`;
  }
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}
