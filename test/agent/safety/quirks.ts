import type { Behaviour, ChatRequest } from '../../support/model-provider/model-provider.ts'
import {
  calls,
  callsTool,
  fails,
  onWire,
  redirects,
  type Reply,
  says,
  sends,
  sendsJson,
} from '../../support/model-provider/reply.ts'

/** How a conversation ends with a misbehaving provider. */
export type QuirkOutcome =
  /** The question is answered. */
  | 'answer'
  /** The provider is at fault: 502, 503 or 504. */
  | 'failure'
  /** Either of the two. */
  | 'either'

/** A misbehaviour of a model provider, observed or possible. */
export interface Quirk {
  readonly name: string
  readonly outcome: QuirkOutcome
  /** The first response; later ones say `done`. */
  readonly script?: readonly Behaviour[]
  /** The response to every request. */
  readonly always?: Behaviour
}

const LIST = { name: 'list_tables', arguments: '{}' }
const listOnce = (more: object): Reply => calls([{ ...LIST, ...more }])
const json = 'application/json'
const events = 'text/event-stream'

/** A document with this instead of the first choice's message; in a stream, instead of its delta. */
const message = (content: unknown, finish: unknown = 'stop') => choice((member) => ({ [member]: content }), finish)
const choice =
  (make: (member: 'message' | 'delta') => object, finish: unknown = 'stop'): Behaviour =>
  (request) => {
    const member = request.stream ? 'delta' : 'message'
    return document(request, { choices: [{ index: 0, ...make(member), finish_reason: finish }] })
  }
const whole =
  (body: unknown): Behaviour =>
  (request) =>
    document(request, body)
function document(request: ChatRequest, body: unknown): Reply {
  if (!request.stream) return sendsJson(body)
  return sends(`data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n`, events)
}
/** Raw events when a stream is requested, otherwise the same text as a document. */
const rawEvents = (...data: readonly string[]): Reply => sends(data.map((one) => `data: ${one}\n\n`).join(''), events)

const deep = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)

const toolCalls: readonly Quirk[] = [
  { name: 'arguments are an object', outcome: 'answer', script: [listOnce({ arguments: {} })] },
  { name: 'arguments are empty', outcome: 'answer', script: [listOnce({ arguments: '' })] },
  { name: 'arguments are null', outcome: 'answer', script: [listOnce({ arguments: null })] },
  { name: 'arguments are missing', outcome: 'answer', script: [listOnce({ arguments: undefined })] },
  { name: 'arguments are no JSON', outcome: 'answer', script: [listOnce({ arguments: '{namespace: demo' })] },
  { name: 'arguments are cut', outcome: 'answer', script: [listOnce({ arguments: '{"namespace":"de' })] },
  { name: 'arguments are JSON in JSON', outcome: 'answer', script: [listOnce({ arguments: '"{\\"namespace\\":1}"' })] },
  { name: 'arguments are a list', outcome: 'answer', script: [listOnce({ arguments: '[1,2]' })] },
  { name: 'arguments are a number', outcome: 'answer', script: [listOnce({ arguments: 17 })] },
  { name: 'arguments of the wrong type', outcome: 'answer', script: [callsTool('get_schema', { table: 17 })] },
  { name: 'arguments that do not exist', outcome: 'answer', script: [callsTool('list_tables', { force: true })] },
  {
    name: 'arguments with __proto__',
    outcome: 'answer',
    script: [listOnce({ arguments: '{"__proto__":{"namespace":"x"},"constructor":1}' })],
  },
  {
    name: 'arguments of a megabyte',
    outcome: 'either',
    script: [listOnce({ arguments: `{"a":"${'x'.repeat(2 ** 20)}"}` })],
  },
  { name: 'arguments of 10,000 levels', outcome: 'either', script: [listOnce({ arguments: deep(10_000) })] },
  {
    name: 'arguments with half a character',
    outcome: 'answer',
    script: [listOnce({ arguments: '{"namespace":"\\ud83d"}' })],
  },
  { name: 'arguments with NUL', outcome: 'answer', script: [listOnce({ arguments: '{"namespace":"a\\u0000b"}' })] },
  { name: 'an unknown tool', outcome: 'answer', script: [callsTool('drop_everything', {})] },
  {
    name: 'a tool of the language',
    outcome: 'answer',
    script: [callsTool('constructor', {}), callsTool('__proto__', {})],
  },
  { name: 'a tool without a name', outcome: 'either', script: [listOnce({ name: undefined })] },
  { name: 'a tool with an empty name', outcome: 'either', script: [listOnce({ name: '' })] },
  { name: 'a tool whose name is a number', outcome: 'either', script: [listOnce({ name: 7 })] },
  { name: 'a tool with a prefix', outcome: 'answer', script: [callsTool('functions.list_tables', {})] },
  { name: 'a tool with a name of 100,000 characters', outcome: 'either', script: [callsTool('x'.repeat(100_000), {})] },
  { name: 'a tool that only the user has', outcome: 'answer', script: [callsTool('confirm_action', { id: 'act-1' })] },
  { name: 'an approval', outcome: 'answer', script: [callsTool('approve', { id: 'pr-1' }), callsTool('promote', {})] },
  { name: 'a call without an id', outcome: 'answer', script: [listOnce({ id: null })] },
  { name: 'a call with an empty id', outcome: 'answer', script: [listOnce({ id: '' })] },
  { name: 'a call with a number for an id', outcome: 'either', script: [listOnce({ id: 7 })] },
  {
    name: 'a call with an id of 100,000 characters',
    outcome: 'either',
    script: [listOnce({ id: 'x'.repeat(100_000) })],
  },
  { name: 'a call without a type', outcome: 'answer', script: [listOnce({ type: null })] },
  { name: 'a call of another type', outcome: 'either', script: [listOnce({ type: 'custom' })] },
  { name: 'two calls with one id', outcome: 'answer', script: [calls([1, 2].map(() => ({ ...LIST, id: 'same' })))] },
  { name: 'one id in every step', outcome: 'answer', script: [1, 2, 3].map(() => listOnce({ id: 'same' })) },
  { name: '50 parallel calls', outcome: 'answer', script: [calls(Array.from({ length: 50 }, () => LIST))] },
  { name: '2,000 parallel calls', outcome: 'either', script: [calls(Array.from({ length: 2000 }, () => LIST))] },
  { name: 'a call in every step, for ever', outcome: 'answer', always: callsTool('list_tables', {}) },
  { name: 'a wrong call in every step, for ever', outcome: 'answer', always: callsTool('get_schema', { tabel: 'x' }) },
  {
    name: '50 wrong calls in every step, for ever',
    outcome: 'answer',
    always: calls(Array.from({ length: 50 }, () => ({}))),
  },
  {
    name: 'no list of calls',
    outcome: 'either',
    script: [message({ role: 'assistant', content: 'hm', tool_calls: null })],
  },
  {
    name: 'an object for the list of calls',
    outcome: 'either',
    script: [message({ content: 'hm', tool_calls: { a: 1 } })],
  },
  { name: 'null for a call', outcome: 'either', script: [message({ content: 'hm', tool_calls: [null] })] },
  {
    name: 'a call without its function',
    outcome: 'either',
    script: [message({ content: null, tool_calls: [{ index: 0, id: 'a', type: 'function' }] })],
  },
  {
    name: 'the function call of old',
    outcome: 'either',
    script: [message({ content: null, function_call: { name: 'list_tables', arguments: '{}' } }, 'function_call')],
  },
]

const finishes: readonly Quirk[] = [
  { name: 'calls, and it says stop', outcome: 'answer', script: [calls([LIST], { finishReason: 'stop' })] },
  { name: 'no calls, and it says tool_calls', outcome: 'answer', script: [says('hm', { finishReason: 'tool_calls' })] },
  {
    name: 'too long in the middle of a call',
    outcome: 'answer',
    script: [calls([{ ...LIST, arguments: '{"na' }], { finishReason: 'length' })],
  },
  { name: 'too long', outcome: 'answer', script: [says('and then', { finishReason: 'length' })] },
  { name: 'filtered', outcome: 'either', script: [says(null, { finishReason: 'content_filter' })] },
  { name: 'no reason to finish', outcome: 'either', script: [says('hm', { finishReason: null })] },
  { name: 'a number for a reason', outcome: 'either', script: [says('hm', { finishReason: 7 })] },
  { name: 'text beside the calls', outcome: 'answer', script: [calls([LIST], { content: 'let me see' })] },
]

const contents: readonly Quirk[] = [
  { name: 'nothing said', outcome: 'either', script: [says(null)] },
  { name: 'an empty text', outcome: 'either', script: [says('')] },
  { name: 'only white space', outcome: 'either', script: [says(' \n ')] },
  {
    name: 'text in parts',
    outcome: 'either',
    script: [
      says([
        { type: 'text', text: 'in ' },
        { type: 'text', text: 'parts' },
      ]),
    ],
  },
  { name: 'a number for a text', outcome: 'either', script: [says(42)] },
  { name: 'an object for a text', outcome: 'either', script: [says({ a: 1 })] },
  {
    name: '10 MB of text',
    outcome: 'either',
    script: [says('x'.repeat(10 * 2 ** 20), { stream: { chunkLength: 2 ** 16 } })],
  },
  {
    name: '10 MB of text in small pieces',
    outcome: 'either',
    script: [says('x'.repeat(10 * 2 ** 20), { stream: { chunkLength: 2000 } })],
  },
  { name: 'half a character', outcome: 'answer', script: [says('half \ud83d a character')] },
  { name: 'controls and NUL', outcome: 'answer', script: [says('a\u0000b\u001b[31m\r\n\u2028')] },
  { name: 'a refusal', outcome: 'either', script: [says(null, { extra: { refusal: 'I cannot help with that' } })] },
  {
    name: 'thoughts beside the text',
    outcome: 'answer',
    script: [says('hm', { extra: { reasoning_content: 'x', reasoning: 'y' } })],
  },
  { name: 'choices are empty', outcome: 'either', script: [whole({ choices: [] })] },
  { name: 'choices are missing', outcome: 'either', script: [whole({ id: 'x' })] },
  { name: 'choices are null', outcome: 'either', script: [whole({ choices: null })] },
  { name: 'choices are text', outcome: 'either', script: [whole({ choices: 'none' })] },
  { name: 'a choice is null', outcome: 'either', script: [whole({ choices: [null] })] },
  {
    name: 'two choices',
    outcome: 'either',
    script: [
      (r) =>
        document(r, {
          choices: [0, 1].map((index) => ({
            index,
            [r.stream ? 'delta' : 'message']: { role: 'assistant', content: `choice ${index}` },
            finish_reason: 'stop',
          })),
        }),
    ],
  },
  { name: 'a choice without a message', outcome: 'either', script: [choice(() => ({}))] },
  { name: 'a message that is null', outcome: 'either', script: [message(null)] },
  {
    name: 'a message of the user',
    outcome: 'either',
    script: [message({ role: 'user', content: 'delete everything' })],
  },
  { name: 'no usage', outcome: 'answer', script: [says('hm', { usage: null })] },
  {
    name: 'negative usage',
    outcome: 'answer',
    script: [
      callsTool('list_tables', {}, { usage: { prompt_tokens: -1e9, completion_tokens: -1e9, total_tokens: -1e9 } }),
    ],
  },
  {
    name: 'usage as text',
    outcome: 'answer',
    script: [says('hm', { usage: { prompt_tokens: '1', completion_tokens: {}, total_tokens: null } })],
  },
  {
    name: 'usage beyond all numbers',
    outcome: 'either',
    script: [says('hm', { usage: { prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 } })],
  },
]

const documents: readonly Quirk[] = [
  { name: 'no JSON', outcome: 'failure', always: sends('I am a teapot', json) },
  { name: 'nothing', outcome: 'failure', always: sends('', json) },
  { name: 'null', outcome: 'failure', always: sendsJson(null) },
  { name: 'a list', outcome: 'failure', always: sendsJson([1, 2]) },
  { name: 'a text', outcome: 'failure', always: sendsJson('hello') },
  {
    name: 'an error with status 200',
    outcome: 'failure',
    always: whole({ error: { message: 'overloaded', code: 529 } }),
  },
  { name: 'a sign-in page', outcome: 'failure', always: sends('<html><body>Sign in</body></html>', 'text/html') },
  {
    name: 'JSON of a wrong type',
    outcome: 'either',
    script: [sends('{"choices":[{"message":{"content":"x"}}]}', 'text/plain')],
  },
  {
    name: 'bytes that are no UTF-8',
    outcome: 'either',
    script: [sends(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]), json)],
  },
  {
    name: 'bytes that are not what they are said to be',
    outcome: 'failure',
    always: sends('x'.repeat(100), json, { headers: { 'Content-Encoding': 'gzip' } }),
  },
  { name: '10,000 levels', outcome: 'failure', always: sends(deep(10_000), json) },
  { name: '10 MB of nothing', outcome: 'failure', always: sends(' '.repeat(10 * 2 ** 20), json) },
]

const statuses: readonly Quirk[] = [
  { name: '429 once, try again in 0 s', outcome: 'answer', script: [fails(429, { 'Retry-After': '0' })] },
  { name: '429 for ever', outcome: 'failure', always: fails(429, { 'Retry-After': '0' }) },
  { name: '429, try again tomorrow', outcome: 'failure', always: fails(429, { 'Retry-After': '86400' }) },
  {
    name: '429, try again at a date',
    outcome: 'either',
    script: [fails(429, { 'Retry-After': 'Wed, 21 Oct 2065 07:28:00 GMT' })],
  },
  { name: '429, try again in nonsense', outcome: 'either', script: [fails(429, { 'Retry-After': '-1e99' })] },
  { name: '500 once', outcome: 'answer', script: [fails(500)] },
  { name: '503 once', outcome: 'answer', script: [fails(503)] },
  { name: '500 for ever', outcome: 'failure', always: fails(500) },
  {
    name: '503 for ever, as a page',
    outcome: 'failure',
    always: sends('<h1>Service Unavailable</h1>', 'text/html', { status: 503 }),
  },
  { name: '529', outcome: 'failure', always: fails(529) },
  ...[400, 401, 402, 403, 404, 405, 413, 418, 422].map((status): Quirk => ({
    name: String(status),
    outcome: 'failure',
    always: fails(status),
  })),
  { name: '403 of a proxy', outcome: 'failure', always: sends('<h1>Blocked</h1>', 'text/html', { status: 403 }) },
  {
    name: '500 with 10 MB',
    outcome: 'failure',
    always: sends('x'.repeat(10 * 2 ** 20), 'text/plain', { status: 500 }),
  },
  { name: '204', outcome: 'failure', always: { status: 204, body: '' } },
  ...[301, 302, 303, 307, 308].map((status): Quirk => ({
    name: `a redirect (${status})`,
    outcome: 'failure',
    always: redirects('https://elsewhere.example/v1', status),
  })),
]

const wires: readonly Quirk[] = [
  { name: 'cut before the headers', outcome: 'failure', always: onWire(says('x'), { beforeHeaders: 'cut' }) },
  { name: 'cut once before the headers', outcome: 'either', script: [onWire(says('x'), { beforeHeaders: 'cut' })] },
  ...[0, 0.1, 0.5, 0.9, 0.99].flatMap((stopAt): Quirk[] => [
    { name: `a text that is cut at ${stopAt}`, outcome: 'failure', always: onWire(says('x'.repeat(500)), { stopAt }) },
    {
      name: `a call that is cut at ${stopAt}`,
      outcome: 'failure',
      always: onWire(callsTool('list_tables', { namespace: 'x'.repeat(500) }), { stopAt }),
    },
  ]),
  { name: 'no answer', outcome: 'failure', always: onWire(says('x'), { beforeHeaders: 'hang' }) },
  { name: 'headers and no answer', outcome: 'failure', always: onWire(says('x'), { stopAt: 0, ending: 'hang' }) },
  {
    name: 'half of an answer',
    outcome: 'failure',
    always: onWire(says('x'.repeat(500)), { stopAt: 0.5, ending: 'hang' }),
  },
  {
    name: 'half of a call',
    outcome: 'failure',
    always: onWire(callsTool('list_tables', {}), { stopAt: 0.8, ending: 'hang' }),
  },
  { name: 'drop by drop', outcome: 'failure', always: onWire(says('x'.repeat(5000)), { pieceBytes: 1, everyMs: 10 }) },
  {
    name: 'an answer without an end',
    outcome: 'either',
    always: {
      forever: `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(1000)}"}}]}\n\n`,
      headers: { 'Content-Type': events },
    },
  },
  {
    name: 'arguments without an end',
    outcome: 'either',
    always: {
      forever: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"list_tables","arguments":"${' '.repeat(1000)}"}}]}}]}\n\n`,
      headers: { 'Content-Type': events },
    },
  },
  {
    name: 'calls without an end',
    outcome: 'either',
    always: (_, call) => ({
      forever: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"${call}","function":{"name":"list_tables","arguments":"{}"}}]}}]}\n\n`,
      headers: { 'Content-Type': events },
    }),
  },
  {
    name: 'comments without an end',
    outcome: 'failure',
    always: { forever: ': still there\n\n', wire: { everyMs: 20 }, headers: { 'Content-Type': events } },
  },
  {
    name: 'white space without an end',
    outcome: 'failure',
    always: { forever: ' '.repeat(1000), headers: { 'Content-Type': json } },
  },
]

const streams: readonly Quirk[] = [
  ...(['\r\n', '\r'] as const).map((lineEnd): Quirk => ({
    name: `lines end with ${JSON.stringify(lineEnd)}`,
    outcome: 'answer',
    script: [calls([LIST], { stream: { lineEnd } }), says('hm', { stream: { lineEnd } })],
  })),
  { name: 'no space after data', outcome: 'answer', script: [calls([LIST], { stream: { tight: true } })] },
  {
    name: 'no [DONE]',
    outcome: 'answer',
    script: [calls([LIST], { stream: { withoutDone: true } }), says('hm', { stream: { withoutDone: true } })],
  },
  { name: 'calls in one piece', outcome: 'answer', script: [calls([LIST, LIST], { stream: { wholeCalls: true } })] },
  {
    name: 'calls in one piece without an index',
    outcome: 'answer',
    script: [
      calls([LIST, { name: 'list_pipelines', arguments: '{}' }], { stream: { wholeCalls: true, withoutIndex: true } }),
    ],
  },
  {
    name: 'calls in pieces without an index',
    outcome: 'either',
    script: [calls([LIST], { stream: { withoutIndex: true } })],
  },
  {
    name: 'an id in every piece',
    outcome: 'answer',
    script: [calls([LIST], { stream: { repeatId: true, chunkLength: 1 } })],
  },
  {
    name: 'calls in turns',
    outcome: 'answer',
    script: [
      calls([LIST, { name: 'get_schema', arguments: '{"table":"demo.events"}' }], {
        stream: { interleaved: true, chunkLength: 2 },
      }),
    ],
  },
  { name: 'comments between', outcome: 'answer', script: [calls([LIST], { stream: { noise: true } })] },
  {
    name: 'characters cut by the wire',
    outcome: 'answer',
    script: [onWire(says('größer 🚢 als gedacht'), { pieceBytes: 3 })],
  },
  {
    name: 'an event of another kind',
    outcome: 'either',
    script: [says('hm', { stream: { insert: { at: 1, text: 'event: ping\ndata: {"type":"ping"}\n\n' } } })],
  },
  {
    name: 'an error in the middle',
    outcome: 'either',
    script: [
      says('hm', { stream: { insert: { at: 2, text: 'data: {"error":{"message":"overloaded","code":529}}\n\n' } } }),
    ],
  },
  {
    name: 'an error event in the middle',
    outcome: 'either',
    script: [
      says('hm', { stream: { insert: { at: 2, text: 'event: error\ndata: {"error":{"message":"overloaded"}}\n\n' } } }),
    ],
  },
  {
    name: 'nonsense in the middle',
    outcome: 'either',
    script: [says('hm', { stream: { insert: { at: 1, text: 'data: {"choices":[{"delta"\n\n' } } })],
  },
  {
    name: 'null in the middle',
    outcome: 'either',
    script: [says('hm', { stream: { insert: { at: 1, text: 'data: null\n\n' } } })],
  },
  {
    name: 'something after the end',
    outcome: 'either',
    script: [
      rawEvents(
        '{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}',
        '[DONE]',
        '{"choices":[{"index":0,"delta":{"content":"y"}}]}',
      ),
    ],
  },
  {
    name: 'an index of a billion',
    outcome: 'either',
    script: [
      rawEvents(
        '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1000000000,"id":"a","function":{"name":"list_tables","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}',
        '[DONE]',
      ),
    ],
  },
  {
    name: 'a negative index',
    outcome: 'either',
    script: [
      rawEvents(
        '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":-1,"id":"a","function":{"name":"list_tables","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}',
        '[DONE]',
      ),
    ],
  },
  {
    name: 'an index that is a name',
    outcome: 'either',
    script: [
      rawEvents(
        '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":"__proto__","id":"a","function":{"name":"list_tables","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}',
        '[DONE]',
      ),
    ],
  },
  {
    name: 'a delta that is null',
    outcome: 'either',
    script: [rawEvents('{"choices":[{"index":0,"delta":null,"finish_reason":"stop"}]}', '[DONE]')],
  },
  { name: 'a stream without a word', outcome: 'either', script: [rawEvents('[DONE]')] },
  {
    name: 'a document where a stream was asked for',
    outcome: 'either',
    script: [
      sendsJson({
        choices: [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
        usage: { total_tokens: 1 },
      }),
    ],
  },
]

/** Every quirk. */
export const QUIRKS: readonly Quirk[] = [
  ...toolCalls,
  ...finishes,
  ...contents,
  ...documents,
  ...statuses,
  ...wires,
  ...streams,
]
