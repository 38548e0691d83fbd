/** A call of a tool, as a model may write it: anything may be missing or of the wrong type. */
export interface ToolCallDraft {
  readonly name?: unknown
  /** Text is sent as it is, anything else as JSON inside of the message, not as text. */
  readonly arguments?: unknown
  /** Default: `call_<n>`; null: left out. */
  readonly id?: unknown
  /** Default `function`; null: left out. */
  readonly type?: unknown
}

/** What the model says in one answer. */
export interface Turn {
  /** Default null when there are calls. */
  readonly content?: unknown
  readonly toolCalls?: readonly ToolCallDraft[]
  /** Default `tool_calls` or `stop`; null: left out. */
  readonly finishReason?: unknown
  /** Default: counted from the texts; null: left out. */
  readonly usage?: unknown
  /** Further members of the message. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** How a stream of it is written. */
  readonly stream?: StreamStyle
}

/** Ways in which servers of this protocol write their streams. */
export interface StreamStyle {
  /** Default LF. */
  readonly lineEnd?: '\n' | '\r\n' | '\r'
  /** `data:{…}` without a space. */
  readonly tight?: boolean
  /** Left out: the `[DONE]` at the end. */
  readonly withoutDone?: boolean
  /** Calls come whole, in one chunk, as from servers that do not stream arguments. */
  readonly wholeCalls?: boolean
  /** Chunks of calls have no `index`. */
  readonly withoutIndex?: boolean
  /** Every chunk of a call repeats its id and name. */
  readonly repeatId?: boolean
  /** Chunks of parallel calls alternate. */
  readonly interleaved?: boolean
  /** Comments and empty lines between the chunks. */
  readonly noise?: boolean
  /** Characters per chunk of text; default 8. */
  readonly chunkLength?: number
  /** Text that is written before the chunk with this number. */
  readonly insert?: { readonly at: number; readonly text: string }
}

/** What happens on the wire. */
export interface Wire {
  /** Nothing is sent at all: the connection stays open, or is closed. */
  readonly beforeHeaders?: 'hang' | 'cut'
  /** Share of the body after which it ends abnormally, 0 to 1; 0: right after the headers. */
  readonly stopAt?: number
  /** How it ends there; default `cut`. */
  readonly ending?: 'cut' | 'hang'
  /** Bytes per write; default: all at once. */
  readonly pieceBytes?: number
  /** Milliseconds between the writes. */
  readonly everyMs?: number
}

/** One answer of the provider. */
export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Written as the protocol has it: one JSON document, or a stream when the request asks for one. */
  readonly turn?: Turn
  /** Bytes that stand in place of the turn. */
  readonly body?: string | Uint8Array
  /** Repeated until the client goes away. */
  readonly forever?: string
  readonly wire?: Wire
}

/** The model answers with a text. */
export function says(content: unknown, more: Omit<Turn, 'content'> = {}): Reply {
  return { turn: { content, ...more } }
}

/** The model calls tools. */
export function calls(toolCalls: readonly ToolCallDraft[], more: Omit<Turn, 'toolCalls'> = {}): Reply {
  return { turn: { toolCalls, ...more } }
}

/** The model calls one tool, with arguments as providers send them: JSON in a text. */
export function callsTool(name: string, args: unknown, more: Omit<Turn, 'toolCalls'> = {}): Reply {
  return calls([{ name, arguments: JSON.stringify(args) }], more)
}

/** A refusal of the provider in its usual shape. */
export function fails(status: number, headers: Readonly<Record<string, string>> = {}): Reply {
  const error = { message: `refused with ${status}`, type: 'server_error', param: null, code: null }
  return sendsJson({ error }, { status, headers })
}

/** Any document in place of an answer. */
export function sendsJson(document: unknown, more: Omit<Reply, 'turn' | 'body'> = {}): Reply {
  return { ...more, body: JSON.stringify(document), headers: { 'Content-Type': 'application/json', ...more.headers } }
}

/** Any bytes with any type. */
export function sends(body: string | Uint8Array, contentType: string, more: Omit<Reply, 'turn' | 'body'> = {}): Reply {
  return { ...more, body, headers: { 'Content-Type': contentType, ...more.headers } }
}

/** Sends the client elsewhere. */
export function redirects(to: string, status = 307): Reply {
  return { status, headers: { Location: to }, body: '' }
}

/** The same answer, misbehaving on the wire. */
export function onWire(reply: Reply, wire: Wire): Reply {
  return { ...reply, wire: { ...reply.wire, ...wire } }
}
