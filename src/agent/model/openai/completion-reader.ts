import type { ModelToolCall } from '../chat-model.ts'

/** A tool call as received from a provider: anything may be missing. */
export interface RawCall {
  readonly id: unknown
  readonly name: unknown
  readonly arguments: unknown
  readonly extra: unknown
}

/** The contents of a provider's response. */
export interface RawReply {
  readonly text: string
  readonly calls: readonly RawCall[]
  readonly usage: RawUsage
  readonly finishReason: unknown
}

/** Tokens as the provider counts them; undefined when missing or invalid. */
export interface RawUsage {
  readonly input: number | undefined
  readonly output: number | undefined
}

/** Further calls in one response are ignored. */
const MAX_CALLS = 64
const MAX_EXTRA = 20_000
const MAX_TOKENS = 10_000_000

/**
 * Reads a Chat Completions response (`chat.completion`), tolerantly: content may be null, text or parts; arguments may
 * be text or an object; the presence of calls decides, not `finish_reason`. Undefined when it is not a chat completion.
 */
export function readCompletion(document: unknown): RawReply | undefined {
  if (!isRecord(document)) return undefined
  const { choices } = document
  if (!Array.isArray(choices)) return undefined
  const choice: unknown = choices[0]
  const message = isRecord(choice) ? choice['message'] : undefined
  const usage = readUsage(document['usage'])
  if (!isRecord(message)) return { text: '', calls: [], usage, finishReason: undefined }
  return {
    text: withoutReasoning(readText(message)),
    calls: readCalls(message),
    usage,
    finishReason: isRecord(choice) ? choice['finish_reason'] : undefined,
  }
}

function readText(message: Readonly<Record<string, unknown>>): string {
  const text = textOf(message['content'])
  return text === '' ? textOf(message['refusal']) : text
}

/** The text of a content field: a string, or the joined texts of its parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('')
}

/** Removes the reasoning that some servers put before the answer. */
export function withoutReasoning(text: string): string {
  return text.replace(/^\s*<think>[\s\S]*?<\/think>\s*/, '')
}

function readCalls(message: Readonly<Record<string, unknown>>): RawCall[] {
  const { tool_calls: calls, function_call: only } = message
  if (Array.isArray(calls) && calls.length > 0) return calls.slice(0, MAX_CALLS).map(readCall)
  return isRecord(only) ? [readCall({ function: only })] : []
}

/** One element of `tool_calls`. */
export function readCall(call: unknown): RawCall {
  const record = isRecord(call) ? call : {}
  const fn = isRecord(record['function']) ? record['function'] : record
  return { id: record['id'], name: fn['name'], arguments: fn['arguments'], extra: record['extra_content'] }
}

/** The `usage` of an answer or of the last chunk of a stream. */
export function readUsage(usage: unknown): RawUsage {
  if (!isRecord(usage)) return { input: undefined, output: undefined }
  return { input: tokenCount(usage['prompt_tokens']), output: tokenCount(usage['completion_tokens']) }
}

function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS ? value : undefined
}

/** Tool calls with a name and an id that is unique in the conversation and accepted by every provider. */
export function toToolCalls(calls: readonly RawCall[], taken: Iterable<string>): ModelToolCall[] {
  const ids = new Set(taken)
  return calls.map(({ id, name, arguments: args, extra }) => {
    const isUsable = typeof id === 'string' && /^[\w.:-]{1,64}$/.test(id) && !ids.has(id)
    const own = isUsable ? id : freeId(ids)
    ids.add(own)
    const keepsExtra = extra !== undefined && extra !== null && JSON.stringify(extra).length <= MAX_EXTRA
    return {
      id: own,
      name: typeof name === 'string' ? name.trim().slice(0, 200) : '',
      arguments: args,
      ...(keepsExtra ? { extra } : {}),
    }
  })
}

/** Nine letters and digits: the form that all providers accept. */
function freeId(ids: ReadonlySet<string>): string {
  for (let number = ids.size + 1; ; number += 1) {
    const id = `call${String(number).padStart(5, '0')}`
    if (!ids.has(id)) return id
  }
}

/** Whether a value is an object with members. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
