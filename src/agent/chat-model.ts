import type { ProviderName } from '../domain/model-providers.ts'

/** A call that a model asks for. */
export interface ModelToolCall {
  /** Unique in a run; made here when the provider gives none, or one twice. */
  readonly id: string
  readonly name: string
  /** JSON text or an object, as it came. */
  readonly arguments: unknown
  /** What the provider wants back with the call as it came, such as a signature of its thoughts. */
  readonly extra?: unknown
}

/** What is said in a conversation, by whom. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls: readonly ModelToolCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly name: string; readonly content: string }

/** A tool as a model sees it. */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** JSON Schema (draft 7) of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** One step: a conversation that wants an answer or calls of tools. */
export interface ModelRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolDescription[]
  /** False: it has to answer with what it knows. */
  readonly mayCallTools: boolean
  readonly maxOutputTokens: number
  readonly signal: AbortSignal
  /** Takes the text as it comes; absent: nobody watches. */
  readonly onDelta?: (text: string) => void
}

/** Tokens of one or several steps; `estimated`: the provider did not tell all of them. */
export interface TokenUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly estimated: boolean
}

/** What a model says to a {@link ModelRequest}; calls of tools decide, whatever the provider calls the end. */
export interface ModelReply {
  readonly text: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly usage: TokenUsage
  /** Whether the text ends where its limit was. */
  readonly isCutShort: boolean
}

/** Something that holds a conversation and calls tools: a language model of a provider, or rules. */
export interface ChatModel {
  readonly provider: ProviderName
  /** Name of the model, as the provider knows it. */
  readonly name: string
  /** Whether it costs tokens of the daily budget. */
  readonly costsTokens: boolean
  /**
   * Throws `DomainError` `MODEL_UNAVAILABLE`, `MODEL_BUSY` or `MODEL_TIMEOUT` when the provider fails, and the signal's
   * reason when it is aborted.
   */
  complete(request: ModelRequest): Promise<ModelReply>
}

/** What a text is worth, for providers that do not tell: about four characters to a token. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4)
}
