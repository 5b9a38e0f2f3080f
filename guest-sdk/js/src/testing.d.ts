import type { Agent, Context, EntryRef, Fact, Json, Message, ModelProvider, ModelRequest, ModelResponse, Reply, Session } from './index.js';

export type CommandAnswer = string | { code?: number; stdout?: string; stderr?: string };

/** The host of a test: keeps one customer's memory, and answers as the test says. */
export class Host {
  constructor(options?: { resource?: string; settings?: { [key: string]: Json } });
  resource: string;
  /** What the model answers next, as text. */
  modelSays(text: string): this;
  /** The tools that the model calls next, by name and arguments. */
  modelCalls(...calls: [name: string, given?: string | object][]): this;
  /** What the model answers next; an error is one of the provider. */
  modelAnswers(answer: Error | { message: Message; finishReason: { tag: string; val?: string } }): this;
  /** What the model tells of itself. */
  modelIs(info: { model?: string; contextTokens?: number; extras?: object }): this;
  /** How commands end. Without this there is no sandbox. */
  commands(answer: (line: string) => CommandAnswer): this;
  /** Begins another session of the same customer, with a sandbox of its own. */
  newSession(): void;
  /** Handles one message as the real host does. */
  turn(agent: Agent, message: string): Promise<Reply>;
  /** Asks a model provider, and gives its whole answer with the pieces of text that it came in. */
  chat(provider: ModelProvider, request: ModelRequest | Message[]): Promise<ModelResponse & { pieces: string[] }>;
  session(): Session;
  /** What a provider sees. */
  context(): Context;
  /** What was emitted in the last turn. */
  readonly emitted: string;
  readonly profile: { [key: string]: Json };
  /** The customer's current facts, newest first. */
  readonly facts: Fact[];
  working<T = Json>(key: string): T | undefined;
  /** Writes an entry of the ledger, and gives what points at it. */
  record(kind: string, payload: object): EntryRef;
  /** What the model was asked, in order, as the host is given it. */
  readonly requests: { messages: Message[]; tools: { name: string; parameters: string }[] }[];
  readonly commandsRun: string[];
  readonly logged: { level: string; message: string; fields?: Json }[];
}
