// Stacks name lines of the one file that everything is bundled into. The build
// leaves the way back to the sources with it: `globalThis.keepsakeSources`, a
// source map without its texts.

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The name of the file that everything is bundled into. */
export const BUNDLE = 'plugin.js';
/** Frames that are worth showing. */
const FRAMES = 20;

/** A stack with the names of the sources, a line a call, innermost first. */
export function readable(stack, sources = globalThis.keepsakeSources) {
  return stack
    .split('\n')
    .map((line) => /^(?<name>.*)@(?<file>.*?):(?<line>\d+):(?<column>\d+)$/.exec(line.trim())?.groups)
    // What the engine calls before it comes to the plugin is not of the bundle.
    .filter((frame) => frame?.file.endsWith(BUNDLE))
    .slice(0, FRAMES)
    .map((frame) => {
      const at = sources && original(sources, Number(frame.line), Number(frame.column));
      const name = frame.name.replace(/^async\*/, '') || 'top level';
      return `  at ${name} (${at ?? `${frame.file}:${frame.line}:${frame.column}`})`;
    })
    .join('\n');
}

/** Where the innermost call of a readable stack is that is the author's own. */
export function place(stack) {
  const places = [...stack.matchAll(/\((.+:\d+:\d+)\)$/gm)].map(([, at]) => at);
  return places.find((at) => !at.includes('vendor/') && !at.includes('node_modules/')) ?? places[0];
}

/** The place in the sources of a place in the bundle. */
export function original({ mappings, names }, line, column) {
  let [source, sourceLine, sourceColumn] = [0, 0, 0];
  let found;
  for (const [number, segments] of mappings.split(';').slice(0, line).entries()) {
    let generated = 0;
    for (const segment of segments.split(',')) {
      if (segment === '') continue;
      const [columnStep, sourceStep, lineStep, originalStep] = numbers(segment);
      generated += columnStep;
      if (sourceStep === undefined) continue;
      source += sourceStep;
      sourceLine += lineStep;
      sourceColumn += originalStep;
      const here = number === line - 1 && (found === undefined || generated < column);
      if (here) found = `${names[source]}:${sourceLine + 1}:${sourceColumn + 1}`;
    }
  }
  return found;
}

/** The numbers of a segment: base 64, five bits a digit, the sign in the lowest. */
function numbers(segment) {
  const found = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    found.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return found;
}
