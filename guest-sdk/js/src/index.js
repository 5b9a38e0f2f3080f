// What plugins are written with. A test needs no more than this and
// `testing.js`; the component's own entry is in `component/`.

export { defineAgent, defineEmbeddingProvider, defineModelProvider } from './plugin.js';
export { KeepsakeError } from './error.js';
export { CONVERSATION_BYTES, SUMMARY_BYTES } from './conversation.js';
export { AGENT_LOOP, runAgentLoop } from './agent-loop.js';
export { Toolbox, tool } from './tool.js';
export { memoryTools } from './memory-tools.js';
export { sandboxTools } from './sandbox-tools.js';
export { assistant, system, toolAnswer, user } from './message.js';
export { cosine, normalise } from './vector.js';
