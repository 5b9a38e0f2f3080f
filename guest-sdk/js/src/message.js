// Messages of a conversation with a model.

export const system = (content) => message('system', content);
export const user = (content) => message('user', content);
export const assistant = (content) => message('assistant', content);

/** What a tool answers to a call. */
export function toolAnswer(call, content) {
  return { ...message('tool', content), toolCallId: call.id };
}

function message(role, content) {
  return { role, content, toolCalls: [] };
}
