import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventStream } from '../../src/routes/routing/event-stream.ts'
import { ADMIN_TOKEN, startTestService, type TestService } from '../support/service.ts'
import { sleep } from '../support/waiting.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

const happen = (name: string) => service.post('/api/pipeline-defs', { name, description: '', nodes: [], edges: [] })

/** Opens the stream and answers a reader of its messages, comments left out. */
async function open(path: string, headers: Record<string, string> = {}) {
  const response = await service.app.request(path, {
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, Accept: 'text/event-stream', ...headers },
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  return messages(response)
}

async function* messages(response: Response): AsyncGenerator<{ id: string; event: string; data: { seq: number } }> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string): string =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
      if (field('data') !== '') yield { id: field('id'), event: field('event'), data: JSON.parse(field('data')) }
    }
  }
}

describe('the stream of events', () => {
  it('continues after the last event of the client, and with new events', async () => {
    for (const name of ['a', 'b', 'c']) await happen(name)
    const stream = await open('/api/events', { 'Last-Event-ID': '2' })
    expect((await stream.next()).value).toMatchObject({ id: '3', event: 'definition.created', data: { seq: 3 } })
    const next = stream.next()
    await happen('d')
    expect((await next).value).toMatchObject({ id: '4', data: { seq: 4 } })
    await stream.return(undefined)
    expect((await (await open('/api/events?since=0')).next()).value).toMatchObject({ id: '1' })
  })

  it('has only events that match the filter, like the list', async () => {
    const { definition } = (await happen('a')).body
    await happen('b')
    await service.post(`/api/pipeline-defs/${definition.id}/versions`, { nodes: [], edges: [] })
    const types = async (query: string) =>
      (await service.get(`/api/events?${query}`)).body.events.map(({ type }: { type: string }) => type)
    const all = await types('')
    expect(all).toEqual(['definition.created', 'definition.created', 'version.created'])
    expect(await types('type=*')).toEqual(all)
    expect(await types('type=version.created')).toEqual(['version.created'])
    expect(await types('type=definition.*')).toEqual(['definition.created', 'definition.created'])
    expect(await types('type=definitio.*')).toEqual([])
    expect(await types('type=definition.*&since=1&limit=1')).toEqual(['definition.created'])
    const stream = await open('/api/events?since=0&type=version.*')
    expect((await stream.next()).value).toMatchObject({ event: 'version.created', id: '3' })
    await stream.return(undefined)
    for (const wrong of ['definition', 'definition.*.*', '%', 'a b'])
      expect((await service.get(`/api/events?type=${encodeURIComponent(wrong)}`)).status).toBe(400)
  })

  it('refuses an invalid position', async () => {
    const { status } = await service.get('/api/events', {
      headers: { Accept: 'text/event-stream', 'Last-Event-ID': 'x' },
    })
    expect(status).toBe(400)
  })

  it('ends when the service stops', async () => {
    const stream = await open('/api/events')
    const next = stream.next()
    await service.restart()
    expect(await next).toMatchObject({ done: true })
  })

  it('fails alone when its source fails, such as when the state database is lost', async () => {
    const response = eventStream({ signal: new AbortController().signal, keepAliveMs: 10 }, async function* () {
      yield { event: 'first', data: {} }
      throw new Error('the database is away')
    })
    const failed = await response.text().catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(Error)
    // A keep-alive into a stream that has failed rejects: unhandled, it ends the process (and this run of tests).
    await sleep(100)
  })

  it('ends when the caller loses access, and sends comments while idle', async () => {
    let allowed = true
    const response = eventStream(
      { signal: new AbortController().signal, isAllowed: async () => allowed, keepAliveMs: 20 },
      async function* (signal) {
        yield { event: 'first', data: 1 }
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    )
    const reader = response.body!.getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await read()).toBe('event: first\ndata: 1\n\n')
    expect(await read()).toBe(':\n\n')
    allowed = false
    for (let i = 0; i < 100; i++) if ((await reader.read()).done) return
    throw new Error('the stream did not end')
  })
})
