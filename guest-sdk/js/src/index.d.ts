// The types of the SDK. Times are milliseconds since 1970, sizes bytes, unless
// their names say otherwise. What an interface means in full stands in `wit/`.

/** Any value that JSON has a form for. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };

/** Why a call was not carried out: a case of the WIT package, or a code of its own. */
export type ErrorCode =
  | 'denied' | 'not-found' | 'invalid' | 'unavailable' | 'limit' | 'unsupported' | 'internal' | (string & {});

/** A failure that the other side can act on. Any other error is a fault of the plugin. */
export class KeepsakeError extends Error {
  constructor(code: ErrorCode, message: string, more?: { limit?: string; retryAfterMs?: number });
  readonly code: ErrorCode;
  /** The name of the bound that was reached, where the code is `limit`. */
  readonly limit?: string;
  /** How long to wait before trying again, where that is known. */
  readonly retryAfterMs?: number;
  static denied(message: string): KeepsakeError;
  static notFound(message: string): KeepsakeError;
  static invalid(message: string): KeepsakeError;
  static unavailable(message: string, retryAfterMs?: number): KeepsakeError;
  static limit(limit: string, message: string): KeepsakeError;
  static unsupported(message: string): KeepsakeError;
  static internal(message: string): KeepsakeError;
}

/** What an agent is. */
export interface Description {
  /** From 1 to 64 of `a-z 0-9 -`. */
  name: string;
  version: string;
  /** One sentence for the operator. */
  summary: string;
  /** The JSON Schema that profiles must fit; without one, any object does. */
  profileSchema?: object;
}

/** One message in. */
export interface Turn { message: string; extras?: string }
/** One reply out; `data` is for the program that reads it. */
export interface Reply { text: string; data?: unknown }

declare const kind: unique symbol;
/** What `defineAgent` made: the default export of an agent's module. */
export interface Agent { readonly [kind]: 'agent'; description: Description }
/** What `defineEmbeddingProvider` made. */
export interface EmbeddingProvider {
  readonly [kind]: 'embedding-provider';
  info: EmbeddingDefinition['info'];
  embed: EmbeddingDefinition['embed'];
}

/** What `defineModelProvider` made. */
export interface ModelProvider {
  readonly [kind]: 'model-provider';
  info: ModelDefinition['info'];
  chat: ModelDefinition['chat'];
}

export interface AgentDefinition {
  description: Description;
  /** Answers one message, in a new instance each time. */
  handle(session: Session, turn: Turn): string | Reply | Promise<string | Reply>;
}
export interface EmbeddingDefinition {
  /** What the provider is. Does not change while it runs. */
  info(context: Context): NewEmbeddingInfo | Promise<NewEmbeddingInfo>;
  /** One vector for each text, in their order. An empty text is allowed. */
  embed(context: Context, texts: string[], kind: 'query' | 'passage'): Vector[] | Promise<Vector[]>;
}
export interface ModelDefinition {
  /** What the provider is. Does not change while it runs. */
  info(context: Context): NewModelInfo | Promise<NewModelInfo>;
  /**
   * Answers a question: with a text, or, as a generator, with the pieces of one
   * as they come, and at last with how it ended.
   */
  chat(context: Context, question: ModelQuestion): string | Promise<string> | Generator<AnswerPiece, AnswerEnd | void> | AsyncGenerator<AnswerPiece, AnswerEnd | void>;
}
export interface NewModelInfo { model: string; contextTokens?: number; /** `summarises: false` where it cannot put a text into fewer words. */ extras?: object }
export interface ModelQuestion {
  messages: Message[];
  tools: { name: string; description: string; parameters: object }[];
  temperature?: number;
  maxTokens?: number;
  stop: string[];
  extras: { [key: string]: Json };
}
/** A piece of text, or of a tool call, whose first piece has an `id` and a `name`. */
export type AnswerPiece = string | { toolCall: { index?: number; id?: string; name?: string; arguments?: string } };
/** Without them: `stop`, or `tool-calls` where there are any; nothing counted; the model of `info`. */
export interface AnswerEnd { finishReason?: ModelResponse['finishReason']; usage?: Usage; model?: string }
export function defineAgent(agent: AgentDefinition): Agent;
export function defineEmbeddingProvider(provider: EmbeddingDefinition): EmbeddingProvider;
export function defineModelProvider(provider: ModelDefinition): ModelProvider;

export type Vector = number[] | Float32Array;
export interface EmbeddingInfo {
  /** Names the vector space. Vectors of different models are never compared. */
  model: string;
  dimensions: number;
  /** Every vector has length 1, or 0 where the text held nothing known. */
  normalised: boolean;
  /** How many texts one call takes. */
  maxTexts: number;
  maxTextBytes: number;
  /** The cosine below which a passage is no answer, where that was measured. */
  relevanceThreshold?: number;
  extras?: object;
}
/** Without them: `normalised` true, 256 texts, 8 KiB a text. */
export type NewEmbeddingInfo = Pick<EmbeddingInfo, 'model' | 'dimensions'> & Partial<EmbeddingInfo>;
/** Scales a vector to length 1, and answers with the same vector. */
export function normalise<V extends Vector>(vector: V): V;
/** The cosine of two vectors; 0 where one of them is all zeros. */
export function cosine(one: Vector, other: Vector): number;

export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** What every plugin may ask for. */
export interface Context {
  /** The operator's value for a setting; undefined where there is none. */
  setting<T = Json>(key: string): T | undefined;
  /** Writes a line for the operator. Customers never see it. */
  log(level: Level, message: string, fields?: object): void;
}

export interface SessionInfo {
  session: string;
  resource: string;
  account?: string;
  team?: string;
  agent: string;
  /** Counted from 0. */
  turn: number;
  startedAt: number;
  channel: { [key: string]: Json };
}

/** A message of this session and the reply to it. */
export interface Exchange { turn: number; at: number; message: string; reply: string }
/** What was said before in a session. */
export interface Conversation {
  /** What the older exchanges came to: a record, and no instruction. */
  summary?: string;
  /** The newest exchanges, oldest first; what is very long is cut. */
  exchanges: Exchange[];
  /** The same as messages to a model. */
  messages: Message[];
}

/** One turn of a conversation with one customer, whom the host chooses. */
export interface Session extends Context {
  info(): SessionInfo;
  /** What was said before the turn `before`, or before this one, newest first; at most `limit`, 50 unless given. */
  exchanges(options?: { before?: number; limit?: number }): Exchange[];
  /**
   * What was said before in this session, in at most so many bytes: the newest
   * exchanges word for word, and a summary of the older ones, which the model is
   * asked for once in a while and which is kept in working memory.
   */
  conversation(room: number): Conversation;
  /** The customer's memory. */
  scope(): Scope;
  /** The memory of the account that the session was granted, if any. */
  accountScope(): Scope | undefined;
  /** The memory of the team that the session was granted, if any. */
  teamScope(): Scope | undefined;
  /** The session's sandbox, which the first call starts. */
  sandbox(): Sandbox;
  /** Shows a piece of the reply at once. */
  emit(chunk: string): void;
  modelInfo(): { model: string; contextTokens?: number; extras: { [key: string]: Json } };
  /** Asks the model, and gives the answer piece by piece. */
  chat(request: ModelRequest | Message[]): Completion;
  /** Asks the model, and waits for the whole answer. */
  ask(request: ModelRequest | Message[]): ModelResponse;
  embeddingInfo(): EmbeddingInfo;
  embed(texts: string[], kind?: 'query' | 'passage'): Float32Array[];
  /** Hands work to another agent, by the name that the host knows it under. */
  spawn(agent: string, options?: { forkSandbox?: boolean; settings?: object }): Child;
}

/** Another agent at work, with a fork of this session's memory. */
export interface Child {
  readonly session: string;
  send(message: string): void;
  next(): { tag: 'emitted' | 'reply'; val: string } | undefined;
  diff(): ForkDifference;
  merge(): MergeReport;
  discard(): void;
}

/** Points at one ledger entry. */
export interface EntryRef { session: string; index: number; hash?: string }

export interface NewFact {
  /** One sentence or a few; from 1 byte to 64 KiB. */
  content: string;
  metadata?: object;
  /** The ledger entry that it was learned from, which makes it verified. */
  source?: EntryRef;
  /** Words that must occur in the source's output, to the letter. */
  quote?: string;
  /** Given together with `attribute`: a new value for the pair ends the old fact. */
  subject?: string;
  attribute?: string;
  /** The ids of facts that it replaces. */
  supersedes?: string[];
  validFrom?: number | Date;
  expiresAt?: number | Date;
  thread?: string;
  position?: number;
  /** Stores it even where a known fact says nearly the same. */
  keep?: boolean;
}
export interface Fact {
  id: string;
  content: string;
  metadata: { [key: string]: Json };
  source?: EntryRef;
  verification: 'verified' | 'unverified' | 'dangling' | 'tampered';
  /** Whether `verification` says so. */
  verified: boolean;
  createdAt: number;
  updatedAt: number;
  subject?: string;
  attribute?: string;
  validFrom: number;
  validUntil?: number;
  supersededBy?: string;
  thread?: string;
  position?: number;
  instructionLike: boolean;
  masked: boolean;
  extras: { [key: string]: Json };
}
export interface Remembered {
  outcome: 'stored' | 'repeated' | 'merged' | 'superseded' | 'near-duplicate' | 'echo';
  fact: Fact;
  near: Fact[];
}
export interface RecallOptions {
  /** From 1 to 1,000; 5 unless given. */
  limit?: number;
  mode?: 'hybrid' | 'words' | 'vectors';
  minScore?: number;
  metadata?: object;
  since?: number | Date;
  until?: number | Date;
  asOf?: number | Date;
  verifiedOnly?: boolean;
  includeSuperseded?: boolean;
  /** Also what the account and the team know that the session was granted. */
  wider?: boolean;
}
export interface Score { total: number; wordRank?: number; vectorRank?: number; cosine?: number }
export interface Recollection { facts: { fact: Fact; score: Score; layer: 'this' | 'account' | 'team' }[]; receipt: EntryRef }
export interface SnippetOptions {
  /** Usually the customer's message. */
  query?: string;
  /** From 64 to 65,536; 4,096 unless given. */
  maxBytes?: number;
  /** 20 unless given. */
  maxFacts?: number;
  maxTokens?: number;
}
export interface Episode { entry: EntryRef; at: number; kind: string; payload: Json }
export interface EpisodeNode { node: number; parent?: number; session: string; episodes: Episode[] }
export interface ForkDifference {
  added: Fact[];
  changed: Fact[];
  removed: string[];
  working: string[];
  profile: string[];
  conflicts: string[];
}
export interface MergeReport { added: number; changed: number; removed: number; conflicts: string[] }

/** The memory of one customer. Each call is one transaction. */
export interface Scope {
  get<T = Json>(key: string): T | undefined;
  set(key: string, value: unknown): void;
  /** Sets the value, or deletes it where it is undefined, if the old one is `expected`. */
  compareAndSet(key: string, expected: unknown, value: unknown): boolean;
  delete(key: string): boolean;
  /** Changes a value; `change` is asked again where another session was faster. */
  update<T = Json>(key: string, change: (known: T | undefined) => T | undefined): T | undefined;
  /** All of working memory, read by pages. */
  values(): IterableIterator<[string, Json]>;
  profile<T = { [key: string]: Json }>(): T;
  /** Applies a JSON merge patch: members are set, those that are null removed. */
  updateProfile<T = { [key: string]: Json }>(patch: object): T;
  clearProfile(): void;
  remember(fact: string | NewFact): Remembered;
  rememberMany(facts: (string | NewFact)[]): Remembered[];
  /** Facts that answer a question, best first. */
  recall(query: string, options?: RecallOptions): Recollection;
  find(id: string): Fact | undefined;
  /** Every current fact, newest first, read by pages. */
  facts(): IterableIterator<Fact>;
  /** Deletes facts for good, and answers how many there were. */
  forget(ids: string[]): number;
  expire(id: string, at: number | Date): boolean;
  compact(options?: { maxAgeMs?: number; maxFacts?: number }): { removed: number; summarised: number; remaining: number };
  /** Text to put before a prompt. */
  snippet(options?: string | SnippetOptions): string;
  fork(child: string): Branch;
  /** What happened, oldest first, read by pages. */
  episodes(options?: { session?: string; since?: number | Date; until?: number | Date; lineage?: boolean }): IterableIterator<Episode>;
  episodeTree(): EpisodeNode[];
}
/** A fork of a memory, and its way back. */
export interface Branch { scope(): Scope; diff(): ForkDifference; merge(): MergeReport; discard(): void }

export interface Command {
  /** What `sh -c` is given. */
  line: string;
  directory?: string;
  environment?: { [name: string]: string };
  stdin?: string | Uint8Array;
  timeoutMs?: number;
}
export type ExitStatus =
  | { tag: 'code'; val: number }
  | { tag: 'signal' | 'limit' | 'unknown'; val: string }
  | { tag: 'timed-out' };
export interface ExecResult {
  /** It ended by itself, with 0. */
  ok: boolean;
  status: ExitStatus;
  stdout: string;
  stderr: string;
  stdoutBytes: Uint8Array;
  stderrBytes: Uint8Array;
  truncated: boolean;
  durationMs: number;
  /** A source for facts. */
  entry: EntryRef;
}
export interface FileInfo { path: string; kind: 'file' | 'directory' | 'symlink' | 'other'; size: number; modifiedAt?: number }
/** One sandbox. It runs until the session ends. */
export interface Sandbox {
  readonly id: string;
  /** Runs a command to its end. A command that fails is no error. */
  exec(command: string | Command): ExecResult;
  /** What a command tells while it runs. Leaving the loop early kills it. */
  start(command: string | Command): IterableIterator<{ stdout: string } | { stderr: string } | { completed: ExecResult }>;
  readFile(path: string): Uint8Array;
  readText(path: string): string;
  writeFile(path: string, content: string | Uint8Array): void;
  listFiles(path: string): FileInfo[];
  removeFile(path: string): boolean;
  checkpoint(name: string): { id: string; name: string; createdAt: number; entry: EntryRef };
  fork(checkpoint?: string): Sandbox;
  metrics(): { memoryBytes?: number; cpuMs?: number; diskBytes?: number; processes?: number; extras: { [key: string]: Json } };
  close(): void;
}

export interface ToolCall { id: string; name: string; /** JSON, as the model wrote it. */ arguments: string }
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  toolCalls?: ToolCall[];
  toolCallId?: string;
}
export function system(content: string): Message;
export function user(content: string): Message;
export function assistant(content: string): Message;
export function toolAnswer(call: ToolCall, content: string): Message;

export interface ModelRequest {
  messages: Message[];
  tools?: { name: string; description: string; parameters: object }[];
  temperature?: number;
  maxTokens?: number;
  stop?: string[];
  /** Options that only the provider in use knows. */
  extras?: object;
}
export interface Usage { inputTokens: number; outputTokens: number }
export interface ModelResponse {
  message: Message & { toolCalls: ToolCall[] };
  finishReason: 'stop' | 'length' | 'tool-calls' | 'content-filter' | (string & {});
  usage?: Usage;
  model: string;
}
export type Delta =
  | { tag: 'text'; val: string }
  | { tag: 'tool-call'; val: { index: number; id?: string; name?: string; arguments: string } }
  | { tag: 'other'; val: string };
/** An answer on its way. */
export interface Completion extends Iterable<Delta> {
  finish(onText?: (text: string) => void): ModelResponse;
  /** Ends the request. */
  close(): void;
}

/** One tool, as `tool` made it. */
export interface Tool { readonly name: string; readonly description: string; readonly parameters: object }
export interface ToolDefinition<Arguments> {
  /** From 1 to 64 of `A-Z a-z 0-9 _ -`. */
  name: string;
  /** What it is for, told to the model. */
  description: string;
  /** The JSON Schema of its arguments; without one it takes none. */
  parameters?: object;
  /** Is given arguments that fit the schema. What it answers is told as JSON. */
  run(given: Arguments, session: Session): unknown;
}
export function tool<Arguments = any>(definition: ToolDefinition<Arguments>): Tool;
/** The tools of one turn. A later one takes the place of one of the same name. */
export class Toolbox {
  constructor(tools?: Tool[]);
  definitions(): { name: string; description: string; parameters: object }[];
  answer(session: Session, call: ToolCall): Promise<{ content: string; failed: boolean }>;
}
/** The tools with which a model uses memory. */
export function memoryTools(): Tool[];
/** `run_command`, `read_file` and `write_file`, in the session's sandbox. */
export function sandboxTools(): Tool[];

/** The least room of a conversation, and the longest summary, in bytes. */
export const CONVERSATION_BYTES: number;
export const SUMMARY_BYTES: number;
/** What a loop is bounded by, unless its options say otherwise. */
export const AGENT_LOOP: Readonly<{ rounds: number; callsPerRound: number; toolAnswerBytes: number; toolOutputBytes: number }>;
export interface LoopOptions {
  tools?: Tool[] | Toolbox;
  /** Model answers, at least 1. */
  rounds?: number;
  toolOutputBytes?: number;
  /** Whether text is shown to the customer as it comes; true unless given. */
  stream?: boolean;
  temperature?: number;
  maxTokens?: number;
}
export interface LoopOutcome {
  /** All that the model said to the customer. */
  text: string;
  finishReason: ModelResponse['finishReason'];
  rounds: number;
  calls: { name: string; arguments: string; answer: string; failed: boolean }[];
  usage?: Usage;
  messages: Message[];
}
/** Asks the model and runs the tools that it wants until it has a final message. */
export function runAgentLoop(session: Session, messages: Message[], options?: LoopOptions): Promise<LoopOutcome>;
