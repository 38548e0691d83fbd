import { createConnection } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type ModelProvider, startModelProvider } from '../support/model-provider/model-provider.ts'
import { LONG } from '../support/effort.ts'
import { calls, callsTool, fails, onWire, says } from '../support/model-provider/reply.ts'
import { type ServedService, startServedService } from '../support/served.ts'
import { ADMIN_TOKEN } from '../support/service.ts'
import { SMALL_EVENTS } from './agent-lab.ts'

let provider: ModelProvider
let served: ServedService
beforeAll(async () => {
  provider = await startModelProvider()
  served = await startServedService({
    events: SMALL_EVENTS,
    env: { OPENAI_API_KEY: 'sk-stream-test-0123456789', OPENAI_BASE_URL: provider.url },
  })
})
afterEach(() => provider.reset())
afterAll(async () => {
  await served.stop(false)
  await provider.close()
})

interface Event {
  readonly event: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of events without types
  readonly data: any
}

interface Sending {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

function send(body: object, init: Sending = {}): Promise<Response> {
  return fetch(`http://${served.host}/api/agent/chat`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...init,
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json', ...init.headers },
  })
}

const stream = (body: object, init: Sending = {}) => send(body, { ...init, headers: { Accept: 'text/event-stream' } })

/** Yields events as they arrive. */
async function* eventsOf(response: Response): AsyncGenerator<Event> {
  const decoder = new TextDecoder()
  let text = ''
  if (response.body === null) return
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const [event, data] = block.split('\n').filter((line) => !line.startsWith(':'))
      if (event?.startsWith('event: ') && data?.startsWith('data: ')) {
        yield { event: event.slice(7), data: JSON.parse(data.slice(6)) }
      }
    }
  }
}

async function collected(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = []
  for await (const event of events) all.push(event)
  return all
}

async function chats(): Promise<{ id: string; title: string }[]> {
  return (await served.service.get('/api/agent/chats')).body.chats
}

async function lastTurn(title: string) {
  const chat = (await chats()).find((one) => one.title === title)
  if (chat === undefined) return undefined
  return (await served.service.get(`/api/agent/chats/${chat.id}`)).body.turns.at(-1)
}

describe('a run as an event stream', () => {
  it('sends text, calls, pending actions and finally the whole answer', async () => {
    provider.script = [
      calls([
        { name: 'list_tables', arguments: '{}' },
        { name: 'compact', arguments: '{"table":"demo.events","min_input_files":2}' },
      ]),
      says('It waits for you to say yes.'),
    ]
    const response = await stream({ prompt: 'compact what needs it' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = await collected(eventsOf(response))
    const names = events.map(({ event }) => event)
    expect(names.filter((name) => name !== 'delta')).toEqual([
      'tool_start',
      'tool_result',
      'tool_start',
      'tool_result',
      'needs_confirmation',
      'done',
    ])
    const words = events.filter(({ event }) => event === 'delta')
    expect(words.length).toBeGreaterThan(1)
    expect(words.map(({ data }) => data.text).join('')).toBe('It waits for you to say yes.')
    expect(words.every(({ data }) => data.step === 2)).toBe(true)
    const done = events.at(-1)?.data
    expect(done).toMatchObject({ success: true, response: 'It waits for you to say yes.', steps: 2 })
    const waiting = events.find(({ event }) => event === 'needs_confirmation')?.data
    expect(done.pending_actions).toEqual([waiting.action])
    const results = events.filter(({ event }) => event === 'tool_result').map(({ data }) => data.result_json)
    expect(done.tool_calls.map((call: { result_json: string }) => call.result_json)).toEqual(results)
  })

  it('starts while the model is still sending', async () => {
    provider.script = [onWire(says('one two three four five six seven eight'), { pieceBytes: 400, everyMs: 60 })]
    const response = await stream({ prompt: 'count' })
    const heard: number[] = []
    for await (const { event } of eventsOf(response)) if (event === 'delta') heard.push(performance.now())
    expect((heard.at(-1) ?? 0) - (heard[0] ?? 0)).toBeGreaterThan(100)
  })

  it('has the same answer as a document', async () => {
    const script = [callsTool('get_schema', { table: 'demo.events' }), says('five columns')]
    provider.script = [...script]
    const document = (await (await send({ prompt: 'columns' })).json()) as object
    provider.script = [...script]
    const done = (await collected(eventsOf(await stream({ prompt: 'columns' })))).at(-1)
    const same = { chat_id: expect.any(String), usage: expect.any(Object) }
    expect(done?.data).toEqual({ ...document, ...same })
  })

  it('ends with a problem when the provider fails, and refuses an invalid request before it starts', async () => {
    provider.script = [fails(500), fails(500)]
    const [error] = await collected(eventsOf(await stream({ prompt: 'hello' })))
    expect(error).toMatchObject({ event: 'error', data: { code: 'MODEL_UNAVAILABLE', status: 502, success: false } })
    const refused = await stream({ prompt: 'hello', chat_id: 'chat-none' })
    expect(refused.status).toBe(404)
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
  })

  it('works for the builtin assistant', async () => {
    const events = await collected(eventsOf(await stream({ prompt: 'list tables', provider: 'builtin' })))
    expect([...new Set(events.map(({ event }) => event))]).toEqual(['tool_start', 'tool_result', 'delta', 'done'])
    expect(events.at(-1)?.data.response).toContain('rule-based assistant, not a language model')
  })
})

describe('a client that disconnects', LONG, () => {
  it.each([
    ['from a stream', stream],
    ['from a document', send],
  ])('%s: the run ends, also the request to the provider', async (title, ask) => {
    provider.script = [callsTool('list_tables', {}), onWire(says('never'), { beforeHeaders: 'hang' })]
    const leave = new AbortController()
    const response = ask({ prompt: title }, { signal: leave.signal })
    const left = response.then((got) => got.text()).catch(() => 'left')
    await expect.poll(() => provider.received.length).toBe(2)
    leave.abort()
    expect(await left).toBe('left')
    await expect.poll(async () => (await lastTurn(title))?.stop_reason, { timeout: 60_000 }).toBe('cancelled')
    await expect.poll(() => provider.openConnections(), { timeout: 60_000 }).toBe(0)
    expect((await lastTurn(title)).tool_calls).toHaveLength(1)
  })

  it('leaves the partial answer, marked as stopped and without secrets', async () => {
    const words = 'one two three sk-stream-test-0123456789 four five six seven eight'
    provider.script = [onWire(says(words), { pieceBytes: 400, everyMs: 100 })]
    const leave = new AbortController()
    const response = await stream({ prompt: 'half an answer' }, { signal: leave.signal })
    let heard = ''
    for await (const { event, data } of eventsOf(response)) {
      if (event === 'delta') heard += data.text
      if (heard.includes('four')) break
    }
    leave.abort()
    await expect
      .poll(async () => (await lastTurn('half an answer'))?.stop_reason, { timeout: 60_000 })
      .toBe('cancelled')
    const stored = (await lastTurn('half an answer')).response
    expect(stored.startsWith(heard)).toBe(true)
    expect(stored).not.toContain('eight')
    expect(stored).not.toContain('0123456789')
  })

  it('ends the run by closing its connection', async () => {
    provider.script = [onWire(says('never'), { beforeHeaders: 'hang' })]
    const [host, port] = served.host.split(':')
    const socket = createConnection(Number(port), host)
    const body = JSON.stringify({ prompt: 'cut off' })
    socket.write(
      `POST /api/agent/chat HTTP/1.1\r\nHost: ${served.host}\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n` +
        `Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await expect.poll(() => provider.received.length).toBe(1)
    socket.resetAndDestroy()
    await expect.poll(async () => (await lastTurn('cut off'))?.stop_reason, { timeout: 60_000 }).toBe('cancelled')
  })

  it('does not stop other runs, and the service can stop during runs', async () => {
    provider.fallback = onWire(says('never'), { beforeHeaders: 'hang' })
    const waiting = Array.from({ length: 5 }, (_, at) => send({ prompt: `shutdown ${at}` }).catch(() => undefined))
    await expect.poll(() => provider.received.length).toBe(5)
    await served.service.restart()
    provider.reset()
    const titles = (await chats()).map(({ title }) => title)
    expect(titles.filter((title) => title.startsWith('shutdown'))).toHaveLength(5)
    await Promise.all(waiting)
  })
})
