// What a customer's profile may hold.

/** The members that this agent knows, what they are, and how many letters they may have. */
const MEMBERS = [
  ['name', 'What the customer goes by.', 200],
  ['plan', 'The plan that they are on, such as Pro.', 100],
  ['email', 'Their e-mail address.', 320],
  ['phone', 'Their phone number.', 50],
  ['language', 'The language to answer in, such as German.', 50],
];

/** The JSON Schema of profiles. Further members are for other agents. */
export const profileSchema = ofMembers((_, maxLength) => ({ type: 'string', minLength: 1, maxLength }));

/** The JSON Schema of what `update_profile` takes: the same members, where null removes one. */
export const patchSchema = {
  type: 'object',
  properties: {
    patch: {
      ...ofMembers((description, maxLength) => ({ type: ['string', 'null'], maxLength, description })),
      description: 'The members to set; one with the value null is removed.',
    },
  },
  required: ['patch'],
};

function ofMembers(schema) {
  const properties = Object.fromEntries(MEMBERS.map(([name, description, letters]) => [name, schema(description, letters)]));
  return { type: 'object', properties, additionalProperties: true };
}
