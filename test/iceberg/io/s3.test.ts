import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fixedCredentials } from '../../../src/iceberg/io/objects/credential-source.ts'
import { S3FileIO } from '../../../src/iceberg/io/s3/file-io.ts'
import { FakeS3 } from '../../support/network/fake-s3.ts'
import type { StoreFault } from '../../support/network/store-answers.ts'
import { LONG } from '../../support/effort.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const withCode = (code: string) => expect.objectContaining({ name: 'IcebergError', code })
const PART = 1000
const PASSING: readonly StoreFault[] = ['cut-before', 'cut-after', 'fail-before', 'fail-after']

describe('many objects', () => {
  let store: FakeS3
  let io: S3FileIO
  beforeEach(async () => {
    store = await FakeS3.start('lake')
    const { endpoint, credentials } = store
    io = new S3FileIO({ endpoint, credentials: fixedCredentials(credentials), pathStyle: true, roots: ['s3://lake/'] })
  })
  afterEach(() => store.close())

  function fill(count: number): string[] {
    const locations = Array.from({ length: count }, (_, at) => `s3://lake/t/a&b <${at}>'"é.parquet`)
    for (const location of locations) {
      store.objects.set(location.slice('s3://'.length), { bytes: Buffer.from('x'), modifiedAt: new Date() })
    }
    store.objects.set('lake/t/other', { bytes: Buffer.from('x'), modifiedAt: new Date() })
    return locations
  }

  it('are deleted a thousand at a time, and no other', async () => {
    const locations = fill(2500)
    expect(await io.deleteAll([...locations, 's3://lake/t/missing'])).toEqual([])
    expect([...store.objects.keys()]).toEqual(['lake/t/other'])
    expect(store.calls.filter((call) => call.startsWith('POST'))).toHaveLength(3)
    expect(store.calls.filter((call) => call.startsWith('DELETE'))).toEqual([])
    expect(await io.deleteAll([])).toEqual([])
  })

  it('that cannot be deleted are named; the others are gone', async () => {
    const locations = fill(30)
    store.undeletable = '<7>'
    const failures = await io.deleteAll(locations)
    expect(failures).toEqual([{ location: locations[7], reason: expect.stringContaining('AccessDenied') }])
    expect(store.objects.size).toBe(2)
  })

  it('are listed completely or not at all', async () => {
    fill(30)
    const names = async () => (await Array.fromAsync(io.list('s3://lake/t'))).length
    expect(await names()).toBe(31)
    store.knowsListV2 = false
    await expect(names()).rejects.toThrow(
      expect.objectContaining({ code: 'IO_FAILED', message: expect.stringContaining('ListObjectsV2') }),
    )
  })

  it('are deleted one by one where the store does not know another way', async () => {
    const locations = fill(20)
    store.knowsDeleteMany = false
    expect(await io.deleteAll(locations)).toEqual([])
    expect([...store.objects.keys()]).toEqual(['lake/t/other'])
  })

  it('counts a creation as its own when a proxy sent the request twice', async () => {
    store.fault = ({ method }) => (method === 'PUT' ? 'twice' : undefined)
    await io.create('s3://lake/t/v2.metadata.json', bytes('mine'))
    await expect(io.create('s3://lake/t/v2.metadata.json', bytes('other'))).rejects.toThrow(withCode('FILE_EXISTS'))
    expect(store.objects.get('lake/t/v2.metadata.json')?.bytes.toString()).toBe('mine')
  })

  it('are deleted, whatever happens to the first request', async () => {
    for (const fault of ['cut-before', 'cut-after', 'fail-before', 'fail-after', 'cut-body'] as const) {
      const locations = fill(20)
      let isFirst = true
      store.fault = () => {
        const now = isFirst ? fault : undefined
        isFirst = false
        return now
      }
      expect(await io.deleteAll(locations), fault).toEqual([])
      expect([...store.objects.keys()], fault).toEqual(['lake/t/other'])
    }
  })
})

describe('an object store that misbehaves', LONG, () => {
  let store: FakeS3
  let scratch: string
  let io: S3FileIO
  beforeAll(async () => {
    store = await FakeS3.start('lake')
    scratch = await mkdtemp(join(tmpdir(), 's3-'))
    const { endpoint, credentials } = store
    io = new S3FileIO({
      endpoint,
      credentials: fixedCredentials(credentials),
      pathStyle: true,
      roots: ['s3://lake/wh/'],
      partBytes: PART,
    })
  })
  afterAll(async () => {
    await store.close()
    await rm(scratch, { recursive: true, force: true })
  })
  beforeEach(() => {
    store.fault = undefined
    store.objects.clear()
    store.calls.length = 0
  })

  const at = (name: string): string => `s3://lake/wh/${name}`
  const stored = (name: string): Buffer | undefined => store.objects.get(`lake/wh/${name}`)?.bytes
  /** Only the n-th request, from 0, of those that change something fares badly. */
  function failOnce(fault: StoreFault, n = 0): void {
    let changes = 0
    store.fault = ({ method }) => (method !== 'GET' && method !== 'HEAD' && changes++ === n ? fault : undefined)
  }

  it.each(PASSING)('creates a file once, and recognizes it again: %s', async (fault) => {
    failOnce(fault)
    await io.create(at('a'), bytes('mine'))
    expect(stored('a')?.toString()).toBe('mine')
    failOnce(fault)
    await expect(io.create(at('a'), bytes('also mine'))).rejects.toThrow(withCode('FILE_EXISTS'))
    expect(stored('a')?.toString()).toBe('mine')
  })

  it.each(PASSING)('does not report that a file exists when it cannot know: always %s', async (fault) => {
    store.fault = () => fault
    await expect(io.create(at('a'), bytes('mine'))).rejects.toThrow(withCode('IO_FAILED'))
    await expect(io.write(at('b'), bytes('mine'))).rejects.toThrow(withCode('IO_FAILED'))
    await expect(io.stat(at('a'))).rejects.toThrow(withCode('IO_FAILED'))
    await expect(io.read(at('a'))).rejects.toThrow(withCode('IO_FAILED'))
    await expect(io.delete(at('a'))).rejects.toThrow(withCode('IO_FAILED'))
  })

  it('retries interrupted reads, and never returns a part as the whole', async () => {
    await io.write(at('a'), randomBytes(50_000))
    let reads = 0
    store.fault = ({ method }) => (method === 'GET' && reads++ === 0 ? 'cut-body' : undefined)
    expect(Buffer.from(await io.read(at('a'))).equals(stored('a')!)).toBe(true)
    store.fault = ({ method }) => (method === 'GET' ? 'cut-body' : undefined)
    await expect(io.read(at('a'))).rejects.toThrow(withCode('IO_FAILED'))
    await expect(io.readRange(at('a'), 100, 40_000)).rejects.toThrow(withCode('IO_FAILED'))
  })

  it('says what to do, and shows no secret', async () => {
    store.fault = () => 'deny'
    const denied = await io.read(at('a')).catch((error: unknown) => error as Error)
    expect(denied).toEqual(withCode('IO_FAILED'))
    expect(String(denied)).toMatch(/AccessDenied; check the credentials/)
    expect(String(denied)).not.toMatch(/AKID|fake-secret/)
    await expect(io.stat(at('a'))).rejects.toThrow(withCode('IO_FAILED')) // hidden is not absent
    store.fault = () => 'full'
    await expect(io.create(at('a'), bytes('x'))).rejects.toThrow(withCode('NO_SPACE'))
  })

  it('distinguishes a missing bucket from a missing file', async () => {
    const { endpoint, credentials } = store
    const elsewhere = new S3FileIO({
      endpoint,
      credentials: fixedCredentials(credentials),
      pathStyle: true,
      roots: ['s3://absent'],
    })
    await expect(elsewhere.read('s3://absent/a')).rejects.toThrow(/there is no such bucket/)
    await expect(elsewhere.create('s3://absent/a', bytes('x'))).rejects.toThrow(/there is no such bucket/)
    expect(await io.stat(at('none'))).toBeUndefined()
  })

  it.each([
    's3://lake/wherever/a',
    's3://lake/wh/../secret',
    's3://lake/wh/./a',
    's3://other/wh/a',
    's3://lake',
    's3:/lake/wh/a',
    'gs://lake/wh/a',
    '/wh/a',
    's3://lake/wh/a\0b',
  ])('does not ask for %j', async (location) => {
    await expect(io.read(location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    await expect(io.create(location, bytes('x'))).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    await expect(io.delete(location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    expect(store.calls).toEqual([])
  })

  describe('moving a large file in', LONG, () => {
    const content = randomBytes(PART * 3 + 17)
    async function staged(): Promise<string> {
      const path = join(scratch, 'staged')
      await writeFile(path, content)
      return path
    }

    it.each(PASSING.flatMap((fault) => [0, 1, 2, 3, 4, 5].map((n) => [fault, n] as const)))(
      'leaves a complete file or none: %s at change %i',
      async (fault, n) => {
        const path = await staged()
        const before = store.openUploads
        failOnce(fault, n)
        await io.moveIn(path, at('big'))
        expect(stored('big')?.equals(content)).toBe(true)
        expect(existsSync(path)).toBe(false)
        // one that was begun and whose answer got lost cannot be known: it is the store's to expire
        expect(store.openUploads - before).toBe(n === 0 && fault.endsWith('after') ? 1 : 0)
      },
    )

    it('keeps the local file when the store fails permanently, and aborts the upload', async () => {
      const path = await staged()
      const before = store.openUploads
      store.fault = ({ query, method }) => (query.has('uploadId') && method === 'PUT' ? 'fail-before' : undefined)
      await expect(io.moveIn(path, at('big'))).rejects.toThrow(withCode('IO_FAILED'))
      expect([existsSync(path), stored('big'), store.openUploads]).toEqual([true, undefined, before])
    })

    it('does not replace a file', async () => {
      const path = await staged()
      await io.create(at('big'), bytes('first'))
      await expect(io.moveIn(path, at('big'))).rejects.toThrow(withCode('FILE_EXISTS'))
      expect([existsSync(path), stored('big')?.toString()]).toEqual([true, 'first'])
    })
  })
})
