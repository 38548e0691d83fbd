import type { StreamStyle, ToolCallDraft, Turn } from './reply.ts'

/** A call as it stands in the message: what is undefined is left out of the JSON. */
interface WireCall {
  readonly id?: unknown
  readonly type?: unknown
  readonly function: { readonly name?: unknown; readonly arguments?: unknown }
}

/** The answer as one document (Chat Completions, `chat.completion`). */
export function completionDocument(turn: Turn, model: string): unknown {
  const toolCalls = turn.toolCalls?.map(wireCall)
  const message = {
    role: 'assistant',
    content: contentOf(turn),
    ...(toolCalls ? { tool_calls: toolCalls } : {}),
    ...turn.extra,
  }
  const usage = usageOf(turn)
  return {
    ...envelope(model, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, ...finish(turn) }],
    ...(usage === null ? {} : { usage }),
  }
}

/** The answer as server-sent events (Chat Completions, `chat.completion.chunk`). */
export function completionStream(turn: Turn, model: string, withUsage: boolean): string {
  const style = turn.stream ?? {}
  const chunk = (delta: unknown, more: object = {}): string =>
    JSON.stringify({ ...envelope(model, 'chat.completion.chunk'), choices: [{ index: 0, delta, ...more }] })
  const content = contentOf(turn)
  const chunks = [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(content, style).map((text) => chunk({ content: text })),
    ...callDeltas(turn.toolCalls ?? [], style).map((delta) => chunk({ tool_calls: [delta] })),
    chunk({ ...turn.extra }, finish(turn)),
  ]
  const usage = usageOf(turn)
  if (withUsage && usage !== null) {
    chunks.push(JSON.stringify({ ...envelope(model, 'chat.completion.chunk'), choices: [], usage }))
  }
  if (!style.withoutDone) chunks.push('[DONE]')
  return chunks.map((data, at) => event(data, at, style)).join('')
}

function event(data: string, at: number, style: StreamStyle): string {
  const end = style.lineEnd ?? '\n'
  const inserted = style.insert?.at === at ? style.insert.text : ''
  const noise = style.noise ? `: keep-alive${end}${end}${end}` : ''
  return `${inserted}${noise}data:${style.tight ? '' : ' '}${data}${end}${end}`
}

function envelope(model: string, object: string): object {
  return { id: 'chatcmpl-1', object, created: 1_790_000_000, model }
}

function contentOf({ content, toolCalls }: Turn): unknown {
  return content === undefined && toolCalls ? null : content
}

function finish({ finishReason, toolCalls }: Turn): object {
  if (finishReason === null) return {}
  return { finish_reason: finishReason ?? (toolCalls?.length ? 'tool_calls' : 'stop') }
}

function usageOf({ usage, content, toolCalls }: Turn): unknown {
  if (usage !== undefined) return usage
  const tokens = Math.ceil(JSON.stringify([content ?? '', toolCalls ?? []]).length / 4)
  return { prompt_tokens: 100, completion_tokens: tokens, total_tokens: 100 + tokens }
}

function wireCall(call: ToolCallDraft, at: number): WireCall {
  return {
    ...(call.id === null ? {} : { id: call.id ?? `call_${at}` }),
    ...(call.type === null ? {} : { type: call.type ?? 'function' }),
    function: { name: call.name, arguments: call.arguments },
  }
}

function callDeltas(drafts: readonly ToolCallDraft[], style: StreamStyle): unknown[] {
  const perCall = drafts.map((draft, at) => deltasOf(wireCall(draft, at), at, style))
  if (!style.interleaved) return perCall.flat()
  const rounds = Math.max(0, ...perCall.map((deltas) => deltas.length))
  return Array.from({ length: rounds }, (_, round) =>
    perCall.flatMap((deltas) => deltas.slice(round, round + 1)),
  ).flat()
}

function deltasOf(call: WireCall, at: number, style: StreamStyle): unknown[] {
  const index = style.withoutIndex ? {} : { index: at }
  const { arguments: args, name } = call.function
  if (style.wholeCalls || typeof args !== 'string') return [{ ...index, ...call }]
  const head = { ...index, ...call, function: { name, arguments: '' } }
  const repeated = style.repeatId ? call : {}
  const tail = pieces(args, style).map((text) => ({
    ...index,
    ...repeated,
    function: style.repeatId ? { name, arguments: text } : { arguments: text },
  }))
  return [head, ...tail]
}

/** A text in parts; what is no text stays whole. */
function pieces(content: unknown, style: StreamStyle): unknown[] {
  if (content === null || content === undefined) return []
  if (typeof content !== 'string') return [content]
  const length = style.chunkLength ?? 8
  return Array.from({ length: Math.ceil(content.length / length) }, (_, i) =>
    content.slice(i * length, (i + 1) * length),
  )
}
