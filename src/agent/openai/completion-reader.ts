import type { ModelToolCall } from '../chat-model.ts'

/** A call as a provider wrote it: anything may be missing. */
export interface RawCall {
  readonly id: unknown
  readonly name: unknown
  readonly arguments: unknown
  readonly extra: unknown
}

/** What a provider's answer says, whatever shape it has. */
export interface RawReply {
  readonly text: string
  readonly calls: readonly RawCall[]
  readonly usage: RawUsage
  readonly finishReason: unknown
}

/** Tokens as the provider counts them; undefined: it does not say, or says nonsense. */
export interface RawUsage {
  readonly input: number | undefined
  readonly output: number | undefined
}

/** More calls in one answer are not looked at. */
const MAX_CALLS = 64
const MAX_EXTRA = 20_000
const MAX_TOKENS = 10_000_000

/**
 * Reads an answer of Chat Completions (`chat.completion`). Nothing is taken for granted: content may be null, text or
 * parts; arguments text or an object; presence of calls decides, not `finish_reason`. Undefined: it is no answer at all.
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
    text: withoutThoughts(readText(message)),
    calls: readCalls(message),
    usage,
    finishReason: isRecord(choice) ? choice['finish_reason'] : undefined,
  }
}

function readText(message: Readonly<Record<string, unknown>>): string {
  const text = textOf(message['content'])
  return text === '' ? textOf(message['refusal']) : text
}

/** Text, or the texts of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('')
}

/** Some servers leave the thoughts of a model in front of its words. */
export function withoutThoughts(text: string): string {
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

/** Calls with names, and with ids that are unique in the conversation and that every provider takes back. */
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

/** Nine letters and digits: the one form that all providers accept. */
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
