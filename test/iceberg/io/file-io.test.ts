import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import type { FileIO, FileStatus } from '../../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { PrefixFileIO } from '../../../src/iceberg/io/prefix.ts'
import { fileNames } from '../../../src/iceberg/io/file-names.ts'
import { EitherFileIO } from '../../../src/iceberg/io/either.ts'
import { fixedCredentials } from '../../../src/iceberg/io/objects/credential-source.ts'
import { AzureFileIO } from '../../../src/iceberg/io/azure/file-io.ts'
import { GoogleFileIO } from '../../../src/iceberg/io/google/file-io.ts'
import { S3FileIO } from '../../../src/iceberg/io/s3/file-io.ts'
import { isS3Location } from '../../../src/iceberg/io/s3/location.ts'
import { FakeAzure } from '../../support/network/fake-azure.ts'
import { FakeGcs } from '../../support/network/fake-gcs.ts'
import { FakeS3 } from '../../support/network/fake-s3.ts'
import { FILE_CLOCK_MS, sleep } from '../../support/waiting.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array) => new TextDecoder().decode(content)
const withCode = (code: string) => expect.objectContaining({ name: 'IcebergError', code })

interface Candidate {
  readonly io: FileIO
  /** Where the suite may put files. */
  readonly base: string
}

let scratch = ''
let store: FakeS3
let account: FakeAzure
let buckets: FakeGcs
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'file-io-'))
  store = await FakeS3.start('lake')
  account = await FakeAzure.start('lake')
  buckets = await FakeGcs.start('lake')
})
afterAll(async () => {
  await store.close()
  await account.close()
  await buckets.close()
  await rm(scratch, { recursive: true, force: true })
})

function s3(root: string): S3FileIO {
  const { endpoint, credentials } = store
  return new S3FileIO({
    endpoint,
    credentials: fixedCredentials(credentials),
    pathStyle: true,
    roots: [root],
    partBytes: 100_000,
  })
}

function azure(root: string): AzureFileIO {
  const { endpoint, account: name, key } = account
  const settings = { accountAt: () => ({ endpoint, identity: { kind: 'key', account: name, key } as const }) }
  return new AzureFileIO({ settings, roots: [root], partBytes: 100_000 })
}

function google(root: string): GoogleFileIO {
  const credentials = fixedCredentials({ token: buckets.issueToken() })
  return new GoogleFileIO({ settings: { endpoint: buckets.endpoint, credentials }, roots: [root] })
}

const candidates: Record<string, () => Candidate> = {
  'local, paths': () => ({ io: new LocalFileIO(), base: join(scratch, 'plain') }),
  'local, file:// and roots': () => ({ io: new LocalFileIO({ roots: [scratch] }), base: `file://${scratch}/uris` }),
  'local, file:/': () => ({ io: new LocalFileIO(), base: `file:${scratch}/short` }),
  memory: () => ({ io: new MemoryFileIO(), base: 'mem://bucket/warehouse' }),
  'prefix over local': () => {
    const mappings = [{ from: 'hdfs://host:8020/wh', to: join(scratch, 'mapped') }]
    return { io: new PrefixFileIO(new LocalFileIO({ roots: [scratch] }), mappings), base: 'hdfs://host:8020/wh/t' }
  },
  s3: () => ({ io: s3('s3://lake/warehouse'), base: 's3://lake/warehouse/t' }),
  's3a beside local': () => {
    const io = new EitherFileIO(new LocalFileIO({ roots: [] }), s3('s3://lake'), isS3Location)
    return { io, base: 's3a://lake/other' }
  },
  azure: () => ({ io: azure(account.location('lake', 'warehouse')), base: account.location('lake', 'warehouse/t') }),
  google: () => ({ io: google('gs://lake/warehouse'), base: 'gs://lake/warehouse/t' }),
  'prefix over memory': () => {
    return { io: new PrefixFileIO(new MemoryFileIO(), [{ from: 's3a://b/', to: 's3://b/' }]), base: 's3a://b/t' }
  },
}

const LOCAL = ['local, paths', 'local, file:// and roots', 'local, file:/', 'prefix over local']

describe.each(Object.entries(candidates))('FileIO: %s', (name, make) => {
  const isLocal = LOCAL.includes(name)
  let io: FileIO
  let at: (name: string) => string
  beforeAll(() => {
    const { io: made, base } = make()
    io = made
    at = (name) => `${base}/${name}`
  })

  const listed = async (location: string) => {
    const found: FileStatus[] = []
    for await (const status of io.list(location)) found.push(status)
    return found.toSorted((a, b) => (a.location < b.location ? -1 : 1))
  }

  it('creates a file and its folders, and reads it back', async () => {
    await io.create(at('a/b/c.bin'), bytes('hello'))
    const content = await io.read(at('a/b/c.bin'))
    expect(text(content)).toBe('hello')
    expect(content.constructor).toBe(Uint8Array)
  })

  it('keeps the first of two creates', async () => {
    await io.create(at('once'), bytes('first'))
    await expect(io.create(at('once'), bytes('second'))).rejects.toThrow(withCode('FILE_EXISTS'))
    expect(text(await io.read(at('once')))).toBe('first')
  })

  it('lets exactly one of 50 parallel creates win', async () => {
    const attempts = Array.from({ length: 50 }, (_, n) => io.create(at('race/v2.metadata.json'), bytes(`writer ${n}`)))
    const results = await Promise.allSettled(attempts)
    const winners = results.flatMap((result, n) => (result.status === 'fulfilled' ? [n] : []))
    expect(winners).toHaveLength(1)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toEqual(withCode('FILE_EXISTS'))
    }
    expect(text(await io.read(at('race/v2.metadata.json')))).toBe(`writer ${winners[0]}`)
    expect(await listed(at('race'))).toHaveLength(1)
  })

  it('replaces with write', async () => {
    await io.write(at('hint'), bytes('1'))
    await io.write(at('hint'), bytes('22'))
    expect(text(await io.read(at('hint')))).toBe('22')
  })

  it('reads ranges exactly or says that the file is too short', async () => {
    await io.create(at('ranges'), bytes('0123456789'))
    expect(text(await io.readRange(at('ranges'), 3, 4))).toBe('3456')
    expect(text(await io.readRange(at('ranges'), 0, 10))).toBe('0123456789')
    expect(await io.readRange(at('ranges'), 10, 0)).toHaveLength(0)
    await expect(io.readRange(at('ranges'), 8, 3)).rejects.toThrow(withCode('CORRUPT_FILE'))
    await expect(io.readRange(at('ranges'), 0, 2 ** 52)).rejects.toThrow(withCode('CORRUPT_FILE'))
    await expect(io.readRange(at('ranges'), -1, 3)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    await expect(io.readRange(at('ranges'), 0, 1.5)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    await expect(io.readRange(at('absent'), 0, 1)).rejects.toThrow(withCode('FILE_NOT_FOUND'))
  })

  it('reports a missing file', async () => {
    await expect(io.read(at('missing'))).rejects.toThrow(withCode('FILE_NOT_FOUND'))
    await expect(io.read(at('once/below-a-file'))).rejects.toThrow(withCode('FILE_NOT_FOUND'))
    expect(await io.stat(at('missing'))).toBeUndefined()
    await expect(io.delete(at('missing'))).resolves.toBeUndefined()
  })

  it('reports size and time under the requested name', async () => {
    const before = Date.now()
    await io.write(at('status'), bytes('12345'))
    const status = await io.stat(at('status'))
    expect(status).toMatchObject({ location: at('status'), sizeBytes: 5 })
    expect(Math.abs((status?.modifiedAtMs ?? 0) - before)).toBeLessThan(10_000)
    expect(await io.stat(at('a'))).toBeUndefined()
  })

  it('lists the same size, time and revision as it reports for one file', async () => {
    await io.create(at('same/a'), bytes('12345'))
    await sleep(1)
    await io.create(at('same/b'), bytes('123456'))
    expect(await listed(at('same'))).toEqual([await io.stat(at('same/a')), await io.stat(at('same/b'))])
  })

  it('reports another revision for a file that took the place of one of the same size', async () => {
    await io.create(at('revisions/a'), bytes('12345'))
    const first = await io.stat(at('revisions/a'))
    expect(first?.revision).toBeTruthy()
    expect(await io.stat(at('revisions/a'))).toEqual(first)
    await io.delete(at('revisions/a'))
    await sleep(FILE_CLOCK_MS)
    await io.create(at('revisions/a'), bytes('54321'))
    const second = await io.stat(at('revisions/a'))
    expect(second?.revision).not.toBe(first?.revision)
    await io.write(at('revisions/a'), bytes('67890'))
    expect((await io.stat(at('revisions/a')))?.revision).not.toBe(second?.revision)
  })

  it('lists recursively under the requested names', async () => {
    await io.create(at('ls/1'), bytes('1'))
    await io.create(at('ls/x=a%20b/ü 2'), bytes('22'))
    await io.create(at('ls/x=a%20b/y/3'), bytes('333'))
    await io.create(at('ls-not/4'), bytes('4'))
    const expected = [at('ls/1'), at('ls/x=a%20b/y/3'), at('ls/x=a%20b/ü 2')]
    expect((await listed(at('ls'))).map(({ location }) => location)).toEqual(expected)
    expect((await listed(at('ls/'))).map(({ location, sizeBytes }) => [location, sizeBytes])).toEqual([
      [expected[0], 1],
      [expected[1], 3],
      [expected[2], 2],
    ])
    expect(await listed(at('no-such-folder'))).toEqual([])
    expect(await fileNames(io, at('ls/'))).toEqual(['1'])
    expect(await fileNames(io, at('ls/x=a%20b'))).toEqual(['ü 2'])
    expect(await fileNames(io, at('no-such-folder'))).toEqual([])
  })

  it('deletes', async () => {
    await io.create(at('gone'), bytes('x'))
    await io.delete(at('gone'))
    expect(await io.stat(at('gone'))).toBeUndefined()
    await io.create(at('gone'), bytes('again'))
  })

  it('moves a local file in, once', async () => {
    const made = async (name: string, content: string) => {
      await writeFile(join(scratch, name), content)
      return join(scratch, name)
    }
    await io.moveIn(await made('m1', 'rows'), at('data/m.parquet'))
    expect(text(await io.read(at('data/m.parquet')))).toBe('rows')
    const second = await made('m2', 'other rows')
    await expect(io.moveIn(second, at('data/m.parquet'))).rejects.toThrow(withCode('FILE_EXISTS'))
    expect(text(await io.read(at('data/m.parquet')))).toBe('rows')
    await expect(io.moveIn(join(scratch, 'm1'), at('data/n'))).rejects.toThrow(withCode('FILE_NOT_FOUND'))
    expect((await readdir(scratch)).filter((name) => name.startsWith('m') && name.length === 2)).toEqual(['m2'])
  })

  it('returns bytes that are not shared', async () => {
    const content = bytes('abc')
    await io.create(at('shared'), content)
    content.fill(0)
    const first = await io.read(at('shared'))
    first.fill(0)
    expect(text(await io.read(at('shared')))).toBe('abc')
  })

  it('returns a local path only for a local file', async () => {
    await io.write(at('local'), bytes('via path'))
    const path = io.localPath(at('local'))
    expect(path !== undefined).toBe(isLocal)
    if (path !== undefined) expect(text(await new LocalFileIO().read(path))).toBe('via path')
  })
})
