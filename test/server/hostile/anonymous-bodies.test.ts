import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Service } from '../../interop/harness/service.ts'
import { exchangeRaw, openRaw } from '../../support/network/raw-http.ts'
import { CI_SLOWNESS, sleep } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const MEBIBYTE = 2 ** 20

let folder: string
let service: Service

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'anonymous-'))
  service = await Service.start({ home: `${folder}/home`, runtime: 'this' })
})
afterAll(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const url = (path: string): string => `http://127.0.0.1:${service.port}${path}`
const unknownKeys = (bytes: number): string => {
  const keys = Array.from({ length: Math.floor(bytes / 14) }, (_, i) => `"k${String(i).padStart(8, '0')}":1`)
  return `{${keys.join()}}`
}
const signIn = (body: string | ReadableStream): Promise<Response> =>
  fetch(url('/api/auth/session'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
    ...(typeof body === 'string' ? {} : { duplex: 'half' }),
  })

/** The longest response time of health in ms, measured repeatedly until `work` is done. */
async function slowestHealth(work: Promise<unknown>): Promise<number> {
  const done = { yes: false }
  const ended = work.finally(() => (done.yes = true))
  let slowest = 0
  do {
    const startedAt = performance.now()
    expect((await fetch(url('/api/health/live'))).status).toBe(200)
    slowest = Math.max(slowest, performance.now() - startedAt)
  } while (!done.yes)
  await ended
  return slowest
}

/** Highest resident memory of the service so far, in bytes. */
function peakMemory(): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) * 1024
}

describe('bodies without a credential', () => {
  it('with many unknown members return 20 errors and the number of the others', async () => {
    const response = await signIn(unknownKeys(30_000))
    const text = await response.text()
    expect(response.status).toBe(400)
    expect(text.length).toBeLessThan(10_000)
    const { errors, more_errors: more } = JSON.parse(text)
    expect(errors).toHaveLength(20)
    expect(more).toBeGreaterThan(2000)
  })

  it('with very long names are not sent back', async () => {
    const response = await signIn(`{"${'n'.repeat(30_000)}":1}`)
    expect(response.status).toBe(400)
    expect((await response.text()).length).toBeLessThan(10_000)
  })

  it('may have 32 KiB, with and without Content-Length', async () => {
    for (const body of ['x'.repeat(33_000), new Blob(['x'.repeat(33_000)]).stream()]) {
      const response = await signIn(body)
      expect(response.status).toBe(413)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
    }
  })

  it.skipIf(process.platform !== 'linux')('do not block the service or fill its memory, in any number', async () => {
    const before = peakMemory()
    const body = unknownKeys(955 * 1024)
    const flood = Promise.all(
      Array.from({ length: 100 }, () =>
        signIn(body).then(
          (response) => response.status,
          () => 0,
        ),
      ),
    )
    expect(await slowestHealth(flood)).toBeLessThan(2000 * CI_SLOWNESS)
    // 0: the connection ended before the client had sent its body.
    expect((await flood).filter((status) => status !== 413 && status !== 0)).toEqual([])
    expect(peakMemory() - before).toBeLessThan(200 * MEBIBYTE)
  })

  it('are parsed at most 100 times a second per client, without delaying callers with a credential', LONG, async () => {
    const flood = async (): Promise<number[]> => {
      const statuses = []
      for (let i = 0; i < 40; i++) statuses.push((await signIn(unknownKeys(30_000))).status)
      return statuses
    }
    const statuses = (await Promise.all(Array.from({ length: 20 }, flood))).flat()
    expect(new Set(statuses)).toEqual(new Set([400, 429]))
    // 800 bodies cost 8 units each, and 300 units are allowed at once. The rest depends on the duration of the flood.
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(200)
    const limited = await signIn('{}')
    expect([400, 429]).toContain(limited.status)
    if (limited.status === 429) expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await service.get('/api/auth/me')).status).toBe(200)
    expect((await service.post('/api/compact', { table: 'no.such' })).status).toBe(404)
  })

  it('that never end time out on every path', { ...LONG, timeout: 180_000 }, async () => {
    const head = (path: string, more = ''): string => `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${more}`
    const json = 'Content-Type: application/json\r\n'
    const requests = [
      `${head('/api/auth/session', json)}Content-Length: 1000\r\n\r\n{`,
      `${head('/api/auth/session', json)}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      `${head('/api/compact', json)}Content-Length: 1000\r\n\r\n{`,
      `${head('/api/compact', `${json}Authorization: Bearer bad\r\n`)}Content-Length: 1000\r\n\r\n{`,
      `${head('/mcp', json)}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      `${head('/api/no/such', json)}Content-Length: 1000\r\n\r\n{`,
      `${head('/nowhere', json)}Content-Length: 1000\r\n\r\n{`,
      `${head('/notebook/ada/', json)}Content-Length: 1000\r\n\r\n{`,
      `${head('/api/health', json).replace('POST', 'DELETE')}Content-Length: 1000\r\n\r\n{`,
      `${head('/api/health', json).replace('POST', 'GET')}Content-Length: 1000\r\n\r\n{`,
    ]
    const connections = await Promise.all(
      Array.from({ length: 100 }, (_, i) => openRaw(service.port, requests[i % requests.length] ?? '')),
    )
    const patience = sleep(45_000 * CI_SLOWNESS)
    await Promise.race([Promise.all(connections.map(({ closed }) => closed)), patience])
    const open = connections.flatMap(({ isOpen }, i) => (isOpen ? [requests[i % requests.length]] : []))
    for (const connection of connections) connection.end()
    expect([...new Set(open)]).toEqual([])
    expect(connections[0]?.received).toMatch(/^HTTP\/1\.1 (408|429) /)
  })
})

describe('bodies of users', () => {
  it('with 700,000 members are refused at once', async () => {
    const body = unknownKeys(8 * MEBIBYTE)
    const startedAt = performance.now()
    const work = fetch(url('/api/pipeline-defs/import'), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${service.token}` },
      body,
    })
    expect(await slowestHealth(work)).toBeLessThan(2000 * CI_SLOWNESS)
    expect((await work).status).toBe(400)
    expect(performance.now() - startedAt).toBeLessThan(5000 * CI_SLOWNESS)
  })

  it('of the largest accepted shape do not block the service', LONG, async () => {
    const nodes = `[${Array.from({ length: 9999 }, () => '{}').join()}]`
    const config = `{${Array.from({ length: 9999 }, (_, i) => `"k${i}":1`).join()}}`
    const node = (i: number): string => `{"id":"n${i}","type":"filter","config":${config}}`
    const many = Array.from({ length: 9 }, (_, i) => node(i)).join()
    for (const body of [
      `{"format_version":1,"name":"x","nodes":${nodes},"edges":${nodes}}`,
      `{"format_version":1,"name":"x","nodes":[${many}]}`,
      `{"format_version":1,"name":"${'x'.repeat(9 * MEBIBYTE)}"}`,
      `{"format_version":1,"name":"x","description":"${'\\\\'.repeat(4 * MEBIBYTE)}"}`,
    ]) {
      const work = fetch(url('/api/pipeline-defs/import'), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${service.token}` },
        body,
      })
      expect(await slowestHealth(work), body.slice(0, 60)).toBeLessThan(4000 * CI_SLOWNESS)
      expect([201, 400]).toContain((await work).status)
    }
  })

  it('that declare an excessive length are refused before they are sent', async () => {
    const answer = await exchangeRaw(
      service.port,
      `POST /api/compact HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.token}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 2000000\r\n\r\n{',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  })
})

describe('queries', () => {
  // the fetch of Deno sends no address that long
  it.skipIf('Deno' in globalThis)('with too many parameters are refused at once', async () => {
    for (const count of [2000, 100_000]) {
      const startedAt = performance.now()
      const response = await fetch(url(`/api/tables?${Array.from({ length: count }, (_, i) => `p${i}=1`).join('&')}`), {
        headers: { Authorization: `Bearer ${service.token}` },
      })
      expect([400, 414, 431]).toContain(response.status)
      expect((await response.text()).length).toBeLessThan(10_000)
      expect(performance.now() - startedAt).toBeLessThan(2000 * CI_SLOWNESS)
    }
  })
})
