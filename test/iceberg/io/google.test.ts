import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { googleSettings } from '../../../src/catalog/stores/google-settings.ts'
import { toGoogleError } from '../../../src/iceberg/io/google/error.ts'
import { GoogleFileIO } from '../../../src/iceberg/io/google/file-io.ts'
import { FakeGcs } from '../../support/network/fake-gcs.ts'
import type { Answer, StoreFault } from '../../support/network/store-answers.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array) => Buffer.from(content).toString('latin1')
const withCode = (code: string) => expect.objectContaining({ name: 'IcebergError', code })
const PASSING: readonly StoreFault[] = ['cut-before', 'cut-after', 'fail-before', 'fail-after']
const PART = 262_144

let store: FakeGcs
let scratch: string
beforeAll(async () => {
  store = await FakeGcs.start('lake')
  scratch = await mkdtemp(join(tmpdir(), 'google-'))
})
afterAll(async () => {
  await store.close()
  await rm(scratch, { recursive: true, force: true })
})
beforeEach(() => {
  store.objects.clear()
  store.calls.length = 0
})
afterEach(() => {
  store.fault = undefined
  store.undeletable = undefined
  store.payer = undefined
  store.isOpen = false
  store.sessions.keptBytes = Infinity
})

const ROOT = 'gs://lake/wh'
const at = (name: string): string => `${ROOT}/${name}`
const stored = (name: string): string | undefined => store.objects.get(`lake/wh/${name}`)?.bytes.toString('latin1')

function open(properties: Readonly<Record<string, string>> = {}, roots: readonly string[] = [ROOT]): GoogleFileIO {
  const hasOwn = 'gcs.oauth2.token' in properties || 'gcs.no-auth' in properties
  const all: Readonly<Record<string, string>> = {
    ...('gcs.endpoint' in properties ? {} : { 'gcs.service.host': store.endpoint }),
    ...(hasOwn ? {} : { 'gcs.oauth2.token': store.issueToken() }),
    ...properties,
  }
  return new GoogleFileIO({ settings: googleSettings((name) => all[name]), roots, partBytes: PART })
}

/** Only the n-th request, from 0, of those that change something fares badly. */
function failOnce(fault: StoreFault | Answer, n = 0): void {
  let changes = 0
  store.fault = ({ method }) => (method !== 'GET' && changes++ === n ? fault : undefined)
}

const refusal = (status: number, reason: string): Answer => ({
  status,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ error: { code: status, message: reason, errors: [{ reason }] } }),
})

it.each<[string, () => Record<string, string>]>([
  ['a token', () => ({ 'gcs.oauth2.token': store.issueToken(), 'gcs.project-id': 'p' })],
  [
    'a token that expires',
    () => ({
      'gcs.oauth2.token': store.issueToken(),
      'gcs.oauth2.token-expires-at': String(Date.now() + 60_000),
    }),
  ],
  ['the older name of the endpoint', () => ({ 'gcs.endpoint': `${store.endpoint}/` })],
  ['a store without authentication', () => ({ 'gcs.no-auth': 'true' })],
])('%s allows to write, list, read and delete', async (_, properties) => {
  const own = properties()
  store.isOpen = own['gcs.no-auth'] === 'true'
  const io = open(own)
  await io.create(at('a b/ü%20+&?#.parquet'), bytes('rows'))
  const listed = await Array.fromAsync(io.list(ROOT))
  expect(listed.map(({ location }) => location)).toEqual([at('a b/ü%20+&?#.parquet')])
  expect(text(await io.read(at('a b/ü%20+&?#.parquet')))).toBe('rows')
  expect(await io.deleteAll([at('a b/ü%20+&?#.parquet')])).toEqual([])
  expect(store.objects.size).toBe(0)
})

it('a bucket whose requesters pay gets the project that pays', async () => {
  store.payer = 'our-project'
  await open({ 'gcs.user-project': 'our-project' }).create(at('a'), bytes('rows'))
  expect(stored('a')).toBe('rows')
  await expect(open().read(at('a'))).rejects.toThrow(/set gcs\.user-project/)
})

describe('many objects', () => {
  function fill(count: number): string[] {
    const names = Array.from({ length: count }, (_, n) => `a&b <${n}>'"é.parquet`)
    for (const name of [...names, 'other']) store.put(`lake/wh/${name}`, 'x')
    return names.map(at)
  }

  it('are deleted, and no other', async () => {
    const locations = fill(100)
    expect(await open().deleteAll([...locations, at('missing')])).toEqual([])
    expect([...store.objects.keys()]).toEqual(['lake/wh/other'])
    expect(store.calls).toHaveLength(101)
  })

  it('that cannot be deleted are named; the others are gone', async () => {
    const locations = fill(30)
    store.undeletable = '<7>'
    const reason = expect.stringContaining('lacks storage.objects.delete, and needs the role Storage Object User')
    expect(await open().deleteAll(locations)).toEqual([{ location: locations[7], reason }])
    expect(store.objects.size).toBe(2)
  })

  it('are listed once while requests fail, with folders and without the empty objects of consoles', async () => {
    fill(15)
    store.put('lake/wh/folder/', '')
    store.put('lake/wh/folder/a', 'x')
    let count = 0
    store.fault = () => (['cut-body', 'fail-before', undefined] as const)[count++ % 3]
    const io = open()
    const found = (await Array.fromAsync(io.list(ROOT))).map(({ location }) => location)
    expect([found.length, new Set(found).size]).toEqual([17, 17])
    expect(found).not.toContain(at('folder/'))
    expect(await io.listFolders(ROOT)).toEqual(['folder'])
  })

  it('are not listed when the store lists those of other folders', async () => {
    const item = { name: 'wherever/a', size: '1', timeCreated: new Date().toISOString() }
    store.fault = () => ({ status: 200, body: JSON.stringify({ items: [item], prefixes: ['w/'] }) })
    await expect(Array.fromAsync(open().list(ROOT))).rejects.toThrow(/lists objects of other folders/)
    await expect(open().listFolders(ROOT)).rejects.toThrow(/lists objects of other folders/)
  })

  it('are not listed for ever when the store repeats a page', async () => {
    fill(20)
    const page = { items: [], nextPageToken: 'same' }
    store.fault = () => ({ status: 200, body: JSON.stringify(page) })
    await expect(Array.fromAsync(open().list(ROOT))).rejects.toThrow(/the same page again/)
  })
})

describe('a store that misbehaves', () => {
  const BUSY = [refusal(429, 'rateLimitExceeded'), refusal(403, 'userRateLimitExceeded'), refusal(408, 'timeout')]

  it.each<StoreFault | Answer>([...PASSING, ...BUSY])(
    'creates an object once, and recognizes it again: %j',
    async (fault) => {
      const io = open()
      failOnce(fault)
      await io.create(at('a'), bytes('mine'))
      expect(stored('a')).toBe('mine')
      failOnce(fault)
      await expect(io.create(at('a'), bytes('also mine'))).rejects.toThrow(withCode('FILE_EXISTS'))
      expect(stored('a')).toBe('mine')
    },
  )

  it('counts a creation as its own when a proxy sent the request twice', async () => {
    store.fault = ({ method }) => (method === 'POST' ? 'twice' : undefined)
    await open().create(at('v2.metadata.json'), bytes('mine'))
    await expect(open().create(at('v2.metadata.json'), bytes('other'))).rejects.toThrow(withCode('FILE_EXISTS'))
    expect(stored('v2.metadata.json')).toBe('mine')
  })

  it.each(PASSING)('does not report that an object exists when it cannot know: always %s', async (fault) => {
    const io = open()
    store.fault = () => fault
    const attempts = [
      io.create(at('a'), bytes('mine')),
      io.write(at('b'), bytes('b')),
      io.stat(at('a')),
      io.delete(at('a')),
    ]
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toEqual({ status: 'rejected', reason: withCode('IO_FAILED') })
    }
  })

  it('repeats interrupted reads, and never returns a part as the whole', async () => {
    const io = open()
    await io.write(at('a'), randomBytes(50_000))
    let reads = 0
    store.fault = ({ method }) => (method === 'GET' && reads++ === 0 ? 'cut-body' : undefined)
    expect(text(await io.read(at('a')))).toBe(stored('a'))
    const half = { status: 200, headers: { 'X-Goog-Stored-Content-Length': '50000' }, body: randomBytes(25_000) }
    for (const fault of ['cut-body', half] as const) {
      store.fault = ({ query }) => (query.get('alt') === 'media' ? fault : undefined)
      await expect(io.read(at('a'))).rejects.toThrow(withCode('IO_FAILED'))
    }
    store.fault = ({ method }) => (method === 'GET' ? 'cut-body' : undefined)
    await expect(io.readRange(at('a'), 100, 40_000)).rejects.toThrow(withCode('IO_FAILED'))
  })

  it('returns the requested range when everything is sent, and refuses another range', async () => {
    const io = open()
    const [offset, length] = [3, 4]
    store.fault = () => ({ status: 200, body: '0123456789' })
    expect(text(await io.readRange(at('a'), offset, length))).toBe('3456')
    await expect(io.readRange(at('a'), 8, 3)).rejects.toThrow(withCode('CORRUPT_FILE'))
    store.fault = () => ({ status: 206, headers: { 'Content-Range': 'bytes 2-5/10' }, body: '2345' })
    await expect(io.readRange(at('a'), offset, length)).rejects.toThrow(withCode('IO_FAILED'))
  })

  it('does not accept other texts as the status of an object', async () => {
    const io = open()
    const bodies = ['<html>Sign in</html>', '[]', '{}', '{"size":"-1","timeCreated":"2026-01-01T00:00:00Z"}', 'null']
    let count = 0
    store.fault = () => ({ status: 200, body: bodies[count++ % bodies.length] ?? '' })
    const attempts = bodies.flatMap(() => [io.stat(at('a')), io.create(at('a'), bytes('x'))])
    for (const result of await Promise.allSettled(attempts)) {
      const reason = expect.objectContaining({ message: expect.stringMatching(/unclearResponse; check gcs\.service/) })
      expect(result).toEqual({ status: 'rejected', reason })
    }
  })

  it.each([301, 307, 308])('does not send the token to the host of a redirect with %i', async (status) => {
    const other = await FakeGcs.start('lake')
    const Location = `${other.endpoint}/storage/v1/b/lake/o/a`
    store.fault = () => ({ status, headers: { Location }, body: 'moved' })
    const io = open()
    const attempts = [io.read(at('a')), io.readRange(at('a'), 0, 2), io.create(at('a'), bytes('x')), io.delete(at('a'))]
    for (const result of await Promise.allSettled(attempts)) {
      const message = expect.stringMatching(`answered ${status}; check gcs.service.host`)
      expect(result).toEqual({ status: 'rejected', reason: expect.objectContaining({ message }) })
    }
    expect(other.calls).toEqual([])
    await other.close()
  })

  it('does not accept a response without content as an empty object', async () => {
    store.fault = () => ({ status: 204 })
    const reads = [open().read(at('a')), open().readRange(at('a'), 0, 2)]
    for (const result of await Promise.allSettled(reads)) {
      expect(result).toEqual({ status: 'rejected', reason: withCode('IO_FAILED') })
    }
  })

  it('refuses an object that is stored compressed, whose sizes are those of other bytes', async () => {
    store.put('lake/wh/a.json', 'zipped', 'gzip')
    await expect(open().read(at('a.json'))).rejects.toThrow(/it has a Content-Encoding; remove/)
    await expect(open().readRange(at('a.json'), 0, 2)).rejects.toThrow(/it has a Content-Encoding/)
  })
})

describe('a large file', () => {
  const content = randomBytes(PART * 3 + 17)
  const staged = async (name: string, data = content): Promise<string> => {
    await writeFile(join(scratch, name), data)
    return join(scratch, name)
  }

  it.each(PASSING.flatMap((fault) => [0, 2, 4].map((n) => [fault, n] as const)))(
    'is complete after %s at change %i',
    async (fault, n) => {
      const path = await staged('staged')
      failOnce(fault, n)
      await open().moveIn(path, at('big'))
      expect(stored('big') === content.toString('latin1')).toBe(true)
      expect(existsSync(path)).toBe(false)
    },
  )

  it('sends a part once if the store keeps the part and reports a failure', async () => {
    store.sessions.ranges.length = 0
    failOnce('fail-after', 1)
    await open().moveIn(await staged('staged', randomBytes(PART * 2)), at('big'))
    expect(store.sessions.ranges).toEqual([
      `bytes 0-${PART - 1}/*`,
      'bytes */*',
      `bytes ${PART}-${PART * 2 - 1}/*`,
      `bytes */${PART * 2}`,
    ])
  })

  it.each([PART * 2, PART * 2 + 1])('of %i bytes is complete', async (size) => {
    const data = randomBytes(size)
    await open().moveIn(await staged('staged', data), at('big'))
    expect(stored('big') === data.toString('latin1')).toBe(true)
  })

  it('is complete when the store keeps only some bytes of each request', async () => {
    const data = randomBytes(PART * 5)
    const path = await staged('staged', data)
    store.sessions.keptBytes = PART
    const io = new GoogleFileIO({
      settings: googleSettings(
        (name) => ({ 'gcs.service.host': store.endpoint, 'gcs.oauth2.token': store.issueToken() })[name],
      ),
      roots: [ROOT],
      partBytes: PART * 2,
    })
    let count = 0
    store.fault = ({ method }) => (method === 'PUT' && count++ % 2 === 0 ? 'cut-after' : undefined)
    await io.moveIn(path, at('big'))
    expect(stored('big') === data.toString('latin1')).toBe(true)
  })

  it('stays when the store fails permanently, and the upload is discarded', async () => {
    const path = await staged('kept')
    const before = store.sessions.count
    store.fault = ({ method }) => (method === 'PUT' ? 'fail-before' : undefined)
    await expect(open().moveIn(path, at('big'))).rejects.toThrow(withCode('IO_FAILED'))
    expect([existsSync(path), stored('big'), store.sessions.count]).toEqual([true, undefined, before])
  })

  it.each([1, 3])('stays when the store discards the upload before change %i', async (n) => {
    const path = await staged('kept')
    let changes = 0
    store.fault = ({ method }) => {
      if (method === 'PUT' && changes++ === n) store.sessions.discardAll()
      return undefined
    }
    await expect(open().moveIn(path, at('big'))).rejects.toThrow(withCode('IO_FAILED'))
    expect([existsSync(path), stored('big')]).toEqual([true, undefined])
  })

  it('is complete when the last response is lost and the store discards the upload then', async () => {
    const path = await staged('staged')
    let changes = 0
    store.fault = ({ method }) => {
      if (method !== 'PUT') return undefined
      changes += 1
      if (changes === 5) store.sessions.discardAll()
      return changes === 4 ? 'cut-after' : undefined
    }
    await open().moveIn(path, at('big'))
    expect([changes, stored('big') === content.toString('latin1')]).toEqual([5, true])
  })

  it('never mixes with another one of the same name', async () => {
    const other = randomBytes(PART * 5)
    const paths = await Promise.all([staged('one'), staged('two', other)])
    const results = await Promise.allSettled(paths.map((path) => open().moveIn(path, at('big'))))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect([content.toString('latin1'), other.toString('latin1')].includes(stored('big') ?? '')).toBe(true)
  })

  it('stays when the store names no session', async () => {
    const path = await staged('kept')
    for (const headers of [{}, { Location: 'mailto:@other.example' }]) {
      store.fault = ({ query }) => (query.get('uploadType') === 'resumable' ? { status: 200, headers } : undefined)
      await expect(open().moveIn(path, at('big'))).rejects.toThrow(/noSession/)
    }
  })
})

describe('messages say what to correct, and show no secret', () => {
  const failure = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => new Error('no error'),
      (error: Error) => error,
    )
  /** An error with all of its causes, as logs show them. */
  function shown(error: Error): string {
    const cause = error.cause instanceof Error ? shown(error.cause) : ''
    return [error.message, error.stack, JSON.stringify(error, Object.getOwnPropertyNames(error)), cause].join('\n')
  }

  it('for a bucket that does not exist', async () => {
    const io = open({}, ['gs://pond/wh'])
    const location = 'gs://pond/wh/a'
    const attempts = [io.read(location), io.stat(location), io.create(location, bytes('x')), io.delete(location)]
    for (const { message } of await Promise.all(attempts.map(failure))) expect(message).toMatch(/no such bucket/)
    await expect(Array.fromAsync(io.list('gs://pond/wh'))).rejects.toThrow(/no such bucket/)
  })

  it('for a wrong and for an expired token', async () => {
    const wrong = 'ya29.another-secret'
    const expired = store.issueToken(-1)
    for (const token of [wrong, expired]) {
      const error = await failure(open({ 'gcs.oauth2.token': token }).read(at('a')))
      expect(error.message).toMatch(/the token is missing, unknown or expired; replace gcs\.oauth2\.token/)
      expect(shown(error)).not.toMatch(/secret/)
    }
    expect(store.calls).toHaveLength(2)
    const past = { 'gcs.oauth2.token': expired, 'gcs.oauth2.token-expires-at': '1700000000000' }
    await expect(open(past).read(at('a'))).rejects.toThrow(
      /gcs\.oauth2\.token expired at 2023-11-14T22:13:20\.000Z; replace it/,
    )
    expect(store.calls).toHaveLength(2)
  })

  it('for a store that requires authentication', async () => {
    await expect(open({ 'gcs.no-auth': 'true' }).read(at('a'))).rejects.toThrow(/the token is missing, unknown/)
  })

  it('for a host where nothing listens, also during an upload', async () => {
    const token = store.issueToken()
    const error = await failure(open({ 'gcs.oauth2.token': token, 'gcs.endpoint': 'http://127.0.0.1:1' }).read(at('a')))
    expect(error.message).toMatch(/does not respond; check gcs\.service\.host and the network/)
    expect(shown(error)).not.toMatch(/secret/)
    await writeFile(join(scratch, 'cut'), randomBytes(PART * 2))
    store.fault = ({ method }) => (method === 'PUT' ? 'cut-before' : undefined)
    const cut = await failure(open().moveIn(join(scratch, 'cut'), at('big')))
    expect(cut.message).toMatch(/does not respond/)
    expect(shown(cut)).not.toMatch(/secret/)
  })

  it('for an error that quotes the address of an upload', () => {
    const address = 'http://store/upload/storage/v1/b/lake/o?upload_id=secret'
    const cause = Object.assign(new Error(`refused (${address})`), { code: 'ENOTFOUND', path: address })
    const quoted = Object.assign(new TypeError(`error sending request for url (${address})`), { path: address, cause })
    const error = toGoogleError(quoted, { action: 'write', location: at('a') })
    expect(error.message).toMatch(/the host of the object store is unknown; check gcs\.service\.host/)
    expect(shown(error)).not.toMatch(/secret/)
  })

  it('for missing permissions and a full store', async () => {
    store.fault = () => 'deny'
    const error = await failure(open().read(at('a')))
    expect(error.message).toMatch(
      /forbidden; check the credentials and their permissions: .* lacks storage\.objects\.get/,
    )
    await expect(open().stat(at('a'))).rejects.toThrow(withCode('IO_FAILED')) // hidden is not absent
    store.fault = () => 'full'
    await expect(open().create(at('a'), bytes('x'))).rejects.toThrow(withCode('NO_SPACE'))
  })

  it('for a response that repeats the token', async () => {
    const token = store.issueToken()
    store.fault = () => refusal(403, token)
    expect(shown(await failure(open({ 'gcs.oauth2.token': token }).read(at('a'))))).not.toMatch(/secret/)
  })

  it.each([
    'gs://lake/wherever/a',
    'gs://lake/wh/../secret',
    'gs://lake/wh/./a',
    'gs://pond/wh/a',
    'gs://Lake/wh/a',
    'gs://lake',
    'gs:/lake/wh/a',
    'gs://lake@pond/wh/a',
    'gcs://lake/wh/a',
    'https://storage.googleapis.com/lake/wh/a',
    's3://lake/wh/a',
    '/wh/a',
    'gs://lake/wh/a\0b',
    'gs://lake/wh/\ud800',
  ])('for %j, which is not asked for', async (location) => {
    const io = open()
    await expect(io.read(location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    await expect(io.create(location, bytes('x'))).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    expect(store.calls).toEqual([])
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['an address', { 'gcs.service.host': 'hidden:9000' }, /gcs\.service\.host must be an address/],
    ['an address with a folder', { 'gcs.endpoint': 'https://hidden/a' }, /gcs\.endpoint must be an address/],
    ['a token', { 'gcs.oauth2.token': 'hidden token' }, /gcs\.oauth2\.token must be a bearer token/],
    [
      'an expiry',
      { 'gcs.oauth2.token': 'a', 'gcs.oauth2.token-expires-at': 'hidden' },
      /must be a time in milliseconds/,
    ],
    ['no authentication', { 'gcs.no-auth': 'hidden' }, /gcs\.no-auth must be true or false/],
    ['a token without authentication', { 'gcs.no-auth': 'true', 'gcs.oauth2.token': 'hidden' }, /must not be true if/],
    ['a project', { 'gcs.user-project': 'hidden\r\nproject' }, /gcs\.user-project must be the id of a project/],
    [
      'a token without encryption',
      { 'gcs.oauth2.token': 'hidden', 'gcs.endpoint': 'http://a' },
      /must begin with https/,
    ],
    ['default credentials without encryption', { 'gcs.endpoint': 'http://127.0.0.1.a' }, /must begin with https/],
  ])('for an invalid property: %s', (_, properties, message) => {
    const settings = () => googleSettings((name) => properties[name])
    expect(settings).toThrow(message)
    expect(settings).not.toThrow(/hidden/)
  })
})
