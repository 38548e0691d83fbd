import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
  for (const name of ['a', 'b', 'c']) {
    const policy = { name, tables: [name], operations: [{ operation: 'compact' }], when: { snapshots_over: 5 } }
    expect((await service.post('/api/policies', policy)).status).toBe(201)
    const channel = { type: 'slack', url: `https://hooks.example/${name}` }
    expect((await service.post('/api/alerts', { name, events: ['*'], channel })).status).toBe(201)
  }
})
afterAll(() => service.close())

type Item = Readonly<Record<string, unknown>>

describe.each([
  ['/api/policies', 'policies', 'name'],
  ['/api/alerts', 'alerts', 'name'],
  ['/api/events', 'events', 'seq'],
])('the list %s', (path, items, key) => {
  it('has pages of page_size items, which together are the list', async () => {
    const all = (await service.get(path)).body
    expect(all.next_page_token).toBeNull()
    const seen: unknown[] = []
    let token: string | null = ''
    while (token !== null) {
      const { status, body } = await service.get(`${path}?page_size=2&page_token=${token}`)
      expect(status).toBe(200)
      expect(body[items].length).toBeLessThanOrEqual(2)
      seen.push(...body[items].map((item: Item) => item[key]))
      token = body.next_page_token
    }
    expect(seen).toEqual(all[items].map((item: Item) => item[key]))
    expect(seen.length).toBeGreaterThan(2)
  })

  it('refuses page sizes and tokens that no list has', async () => {
    for (const query of ['page_size=0', 'page_size=1001', 'page_size=x', 'page_token=nonsense', 'pagesize=2']) {
      expect((await service.get(`${path}?${query}`)).status, query).toBe(400)
    }
  })
})

it('the list of deliveries has pages, and the next one is in Link', async () => {
  const [{ id }] = (await service.get('/api/alerts')).body.alerts
  const path = `/api/alerts/${id}/deliveries`
  const newest = (await service.get('/api/events')).body.events.at(-1).seq
  const sequences = async () => (await service.get(path)).body.map(({ event_seq }: Item) => event_seq)
  await expect.poll(sequences).toContain(newest) // later ones would come between the tests
  for (let sent = 0; sent < 3; sent += 1) await service.post(`/api/alerts/${id}/test`, undefined)
  const first = await service.get(`${path}?page_size=2`)
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1]
  const second = await service.get(next ?? 'no next page')
  expect([first.body.length, second.body.length]).toEqual([2, 2])
  const kinds = [...first.body, ...second.body].map(({ kind }: Item) => kind)
  expect(kinds).toEqual(['test', 'test', 'test', 'trigger'])
})

it('the list of events counts pages from `since`, and takes `limit` for `page_size`', async () => {
  const all = (await service.get('/api/events')).body.events
  const page = (await service.get('/api/events?since=1&limit=2')).body
  expect(page.events).toEqual(all.slice(1, 3))
  expect(page.last_seq).toBe(3)
  const rest = (await service.get(`/api/events?since=1&page_size=1000&page_token=${page.next_page_token}`)).body
  expect(rest.events).toEqual(all.slice(3))
  const typed = (await service.get('/api/events?type=alert.*&page_size=2')).body
  expect(typed.events).toHaveLength(2)
  const more = (await service.get(`/api/events?type=alert.*&page_token=${typed.next_page_token}`)).body
  expect(more.events).toHaveLength(1)
})
