// As much of JSON Schema as tools are described with: type, properties,
// required, additionalProperties, items, enum and const. What is not known here
// is passed over, as the schema is meant for the model in the first place.

/** What is wrong with a value, as a sentence; undefined when it fits. */
export function misfit(schema, value, path = 'the arguments') {
  if (typeof schema !== 'object' || schema === null) return undefined;
  if (schema.enum && !schema.enum.some((allowed) => same(allowed, value))) {
    return `${path} must be one of ${schema.enum.map((allowed) => JSON.stringify(allowed)).join(', ')}`;
  }
  if ('const' in schema && !same(schema.const, value)) return `${path} must be ${JSON.stringify(schema.const)}`;
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value))) {
    return `${path} must be of type ${types.join(' or ')}, not ${typeName(value)}`;
  }
  if (Array.isArray(value)) return first(value, (item, place) => misfit(schema.items, item, `${path}[${place}]`));
  if (typeof value === 'object' && value !== null) return misfitOfMembers(schema, value, path);
  return undefined;
}

function misfitOfMembers(schema, value, path) {
  const { properties = {}, required = [], additionalProperties } = schema;
  const missing = required.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `${path} must have \`${missing}\``;
  return first(Object.entries(value), ([key, member]) => {
    if (Object.hasOwn(properties, key)) return misfit(properties[key], member, `\`${key}\` in ${path}`);
    if (additionalProperties === false) return `${path} must not have \`${key}\``;
    return misfit(additionalProperties, member, `\`${key}\` in ${path}`);
  });
}

function first(items, find) {
  for (const [place, item] of items.entries()) {
    const found = find(item, place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isOf(type, value) {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'number') return typeof value === 'number';
  return typeName(value) === type;
}

function typeName(value) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
