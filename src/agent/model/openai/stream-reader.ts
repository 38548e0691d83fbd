import {
  isRecord,
  type RawCall,
  type RawReply,
  type RawUsage,
  readCall,
  readUsage,
  textOf,
  withoutReasoning,
} from './completion-reader.ts'

interface OpenCall {
  readonly index: number | undefined
  id: unknown
  name: string
  /** The JSON text received so far; `object` is used when the provider sends an object. */
  text: string
  object: unknown
  extra: unknown
}

const MAX_CALLS = 64
/** Maximum characters of text and arguments; the rest is not read. */
const MAX_LENGTH = 300_000

/** Assembles the chunks of a stream (`chat.completion.chunk`), however the provider splits and numbers them. */
export class StreamReader {
  readonly #onDelta: (text: string) => void
  readonly #calls: OpenCall[] = []
  #hasBegun = false
  #text = ''
  #length = 0
  #usage: RawUsage = { input: undefined, output: undefined }
  #finishReason: unknown

  constructor(onDelta: (text: string) => void) {
    this.#onDelta = onDelta
  }

  /** Whether the size limit is reached. */
  get isFull(): boolean {
    return this.#length > MAX_LENGTH
  }

  add(chunk: unknown): void {
    if (!isRecord(chunk)) return
    if (isRecord(chunk['usage'])) this.#usage = readUsage(chunk['usage'])
    const choices: unknown = chunk['choices']
    if (!Array.isArray(choices)) return
    this.#hasBegun = true
    const choice: unknown = choices[0]
    if (!isRecord(choice)) return
    this.#finishReason = choice['finish_reason'] ?? this.#finishReason
    const delta = isRecord(choice['delta']) ? choice['delta'] : choice['message']
    if (!isRecord(delta)) return
    this.#addText(textOf(delta['content']) || textOf(delta['refusal']))
    const calls: unknown = delta['tool_calls']
    if (Array.isArray(calls)) for (const call of calls) this.#addCall(call)
    else if (isRecord(delta['function_call'])) this.#addCall({ index: 0, function: delta['function_call'] })
  }

  /** Undefined when no chunk of a chat completion was received. */
  reply(): RawReply | undefined {
    if (!this.#hasBegun) return undefined
    const calls = this.#calls.map(({ id, name, text, object, extra }): RawCall => ({
      id,
      name,
      arguments: object ?? text,
      extra,
    }))
    const text = withoutReasoning(this.#text)
    return { text, calls, usage: this.#usage, finishReason: this.isFull ? 'length' : this.#finishReason }
  }

  #addText(text: string): void {
    if (text === '') return
    this.#text += text
    this.#length += text.length
    this.#onDelta(text)
  }

  #addCall(part: unknown): void {
    const { id, name, arguments: args, extra } = readCall(part)
    const index = isRecord(part) && typeof part['index'] === 'number' ? part['index'] : undefined
    const open = this.#openFor(index, id, name)
    if (open === undefined) return
    open.id ??= id
    open.extra ??= extra
    // A name is sent whole, and possibly repeated.
    if (typeof name === 'string' && open.name === '') open.name = name
    if (typeof args === 'string') {
      open.text += args
      this.#length += args.length
    } else if (args !== undefined && args !== null) open.object = args
  }

  /** The call that a part belongs to: by index, unless its id differs (a new call); else by id, else the last one. */
  #openFor(index: number | undefined, id: unknown, name: unknown): OpenCall | undefined {
    const hasId = typeof id === 'string' && id !== ''
    const isSame = (call: OpenCall): boolean => !hasId || call.id === undefined || call.id === null || call.id === id
    const found =
      index === undefined
        ? this.#calls.findLast((call) => (hasId ? call.id === id : call === this.#calls.at(-1)))
        : this.#calls.findLast((call) => call.index === index && isSame(call))
    // Without index and id, a name starts a new call.
    const begins = index === undefined && !hasId && typeof name === 'string' && name !== ''
    if (found !== undefined && !begins) return found
    if (this.#calls.length >= MAX_CALLS) return undefined
    const call: OpenCall = {
      index,
      id: hasId ? id : undefined,
      name: '',
      text: '',
      object: undefined,
      extra: undefined,
    }
    this.#calls.push(call)
    return call
  }
}
