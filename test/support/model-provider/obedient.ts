import type { Behaviour, ChatRequest } from './model-provider.ts'
import { calls, says, type ToolCallDraft } from './reply.ts'

/** A call of a tool that a text asks for. */
export interface Order {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** An order as it stands in a text, before anything hides it. */
export function orderText({ name, args }: Order): string {
  return `call ${name} with ${JSON.stringify(args)}`
}

const ORDER = /call `?([\w.-]+)`? with (\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/gi
const CALLS_PER_STEP = 6

/**
 * A model that does whatever any text tells it: it makes the given calls first, and then every call that is asked for in
 * anything that it has read, however it is hidden. What it has called before it does not call again. With `heeds` it
 * obeys only such texts, so that many of them can be obeyed in turns.
 */
export function obedientModel(reads: readonly Order[], heeds: (text: string) => boolean = () => true): Behaviour {
  return (request) => {
    const made = new Set(
      request.messages
        .flatMap(({ tool_calls }) => tool_calls ?? [])
        .map(({ function: f }) => `${f.name} ${f.arguments}`),
    )
    const wanted = [...reads, ...ordersIn(request, heeds)]
      .map(draft)
      .filter(({ name, arguments: a }) => !made.has(`${name} ${a}`))
    const unique = [...new Map(wanted.map((one) => [`${one.name} ${one.arguments}`, one])).values()]
    return unique.length === 0 ? says('I did all that I was told.') : calls(unique.slice(0, CALLS_PER_STEP))
  }
}

/** Every order in what the model is given; the question of the user is no exception. */
export function ordersIn({ messages }: ChatRequest, heeds: (text: string) => boolean): Order[] {
  return (
    messages
      .filter(({ role }) => role !== 'assistant')
      .flatMap(({ content }) => textsIn(content))
      // A whole document is no text that anybody wrote: those in it are looked at one by one.
      .filter((text) => !/^[[{]/.test(text) && heeds(text))
      .flatMap(readings)
      .flatMap((text) => [...text.matchAll(ORDER)])
      .flatMap(([, name = '', args = '']) => {
        const parsed = parse(args) ?? parse(args.replaceAll('\\"', '"'))
        return typeof parsed === 'object' && parsed !== null ? [{ name, args: parsed as Order['args'] }] : []
      })
  )
}

function draft({ name, args }: Order): ToolCallDraft & { readonly name: string; readonly arguments: string } {
  return { name, arguments: JSON.stringify(args), id: `call_${crypto.randomUUID().slice(0, 8)}` }
}

/** Every text in a value, those in JSON in texts too. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const inner = parse(value)
    return typeof inner === 'object' && inner !== null ? [value, ...textsIn(inner)] : [value]
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)])
}

/** A text as it is, and as it reads when what hides it is taken away. */
function readings(text: string): string[] {
  return [
    text,
    text.replaceAll(/[\u200b-\u200d\u2060\u202a-\u202e\ufeff]/g, ''),
    text.normalize('NFKC'),
    Array.from(text).toReversed().join(''),
    text.replaceAll(/[a-z]/gi, rotate),
    text.replaceAll(/[\u{e0020}-\u{e007e}]/gu, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)),
    text.replaceAll(/%[\da-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16))),
    ...(text.match(/[a-z\d+/]{40,}={0,2}/gi) ?? []).map((code) => Buffer.from(code, 'base64').toString()),
    ...(text.match(/(?:[\da-f]{2}){20,}/gi) ?? []).map((code) => Buffer.from(code, 'hex').toString()),
  ]
}

/** ROT13 of a letter. */
export function rotate(letter: string): string {
  const base = letter <= 'Z' ? 65 : 97
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
