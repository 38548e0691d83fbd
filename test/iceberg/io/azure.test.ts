import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { azureSettings } from '../../../src/catalog/stores/azure-settings.ts'
import { AzureFileIO } from '../../../src/iceberg/io/azure/file-io.ts'
import { withSilenceLimit } from '../../../src/iceberg/io/objects/silence-limit.ts'
import { FakeAzure } from '../../support/network/fake-azure.ts'
import type { StoreFault } from '../../support/network/store-answers.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const withCode = (code: string) => expect.objectContaining({ name: 'IcebergError', code })
const PASSING: readonly StoreFault[] = ['cut-before', 'cut-after', 'fail-before', 'fail-after']
const PART = 1000

let store: FakeAzure
let scratch: string
beforeAll(async () => {
  store = await FakeAzure.start('lake')
  scratch = await mkdtemp(join(tmpdir(), 'azure-'))
})
afterAll(async () => {
  await store.close()
  await rm(scratch, { recursive: true, force: true })
})
beforeEach(() => {
  store.blobs.clear()
  store.calls.length = 0
})
afterEach(() => {
  vi.unstubAllEnvs()
  store.fault = undefined
  store.undeletable = undefined
  store.knowsBatch = true
  store.clockAheadMs = 0
})

const root = () => store.location('lake', 'wh')
const at = (name: string): string => `${root()}/${name}`
const stored = (name: string): string | undefined => store.blobs.get(`lake/wh/${name}`)?.bytes.toString('latin1')

function open(properties: Readonly<Record<string, string>> = {}, roots: readonly string[] = [root()]): AzureFileIO {
  const key = {
    'adls.auth.shared-key.account.name': store.account,
    'adls.auth.shared-key.account.key': store.key,
  }
  const hasOwn = Object.keys(properties).some((name) => /sas-token|connection|account-key/.test(name))
  const all: Readonly<Record<string, string>> = {
    'adls.endpoint': store.endpoint,
    ...(hasOwn ? {} : key),
    ...properties,
  }
  return new AzureFileIO({ settings: azureSettings((name) => all[name], roots), roots, partBytes: PART })
}

/** Only the n-th request, from 0, of those that change something fares badly. */
function failOnce(fault: StoreFault, n = 0): void {
  let changes = 0
  store.fault = ({ method }) => (method !== 'GET' && method !== 'HEAD' && changes++ === n ? fault : undefined)
}

const identities: Record<string, () => Record<string, string>> = {
  'the names of PyIceberg': () => ({ 'adls.account-name': store.account, 'adls.account-key': store.key }),
  'a SAS token of the account': () => ({ [`adls.sas-token.${store.account}`]: `?${store.issueSas(60_000)}` }),
  'a SAS token of the host': () => ({
    [`adls.sas-token.${store.account}.dfs.core.windows.net`]: store.issueSas(60_000),
  }),
  'a connection string': () => ({
    'adls.connection-string': `BlobEndpoint=${store.endpoint};AccountName=${store.account};AccountKey=${store.key}`,
  }),
  'a connection string with a SAS token': () => ({
    [`adls.connection-string.${store.account}`]: `BlobEndpoint=${store.endpoint}/;SharedAccessSignature=${store.issueSas(60_000)}`,
  }),
}

it.each(Object.entries(identities))('%s allows to write, list, read and delete', async (_, properties) => {
  const io = open(properties())
  await io.create(at('a b/ü%20.parquet'), bytes('rows'))
  const listed = await Array.fromAsync(io.list(root()))
  expect(listed.map(({ location }) => location)).toEqual([at('a b/ü%20.parquet')])
  expect(Buffer.from(await io.read(at('a b/ü%20.parquet'))).toString()).toBe('rows')
  expect(await io.deleteAll([at('a b/ü%20.parquet')])).toEqual([])
  expect(store.blobs.size).toBe(0)
})

describe('many blobs', () => {
  function fill(count: number): string[] {
    const names = Array.from({ length: count }, (_, n) => `a&b <${n}>'"é.parquet`)
    for (const name of [...names, 'other']) store.put(`lake/wh/${name}`, 'x')
    return names.map(at)
  }

  it('are deleted 256 at a time, and no other', async () => {
    const locations = fill(600)
    expect(await open().deleteAll([...locations, at('missing')])).toEqual([])
    expect([...store.blobs.keys()]).toEqual(['lake/wh/other'])
    expect(store.calls).toEqual(['POST ', 'POST ', 'POST '])
  })

  it('that cannot be deleted are named; the others are gone', async () => {
    const locations = fill(30)
    store.undeletable = '<7>'
    const reason = expect.stringContaining('Storage Blob Data Contributor')
    expect(await open().deleteAll(locations)).toEqual([{ location: locations[7], reason }])
    expect(store.blobs.size).toBe(2)
  })

  it('are deleted one by one where the account does not support batches', async () => {
    const locations = fill(20)
    store.knowsBatch = false
    expect(await open().deleteAll(locations)).toEqual([])
    expect([...store.blobs.keys()]).toEqual(['lake/wh/other'])
  })

  it('are listed without the folders of a hierarchical namespace', async () => {
    fill(30)
    store.put('lake/wh/folder', '', { isFolder: true })
    store.put('lake/wh/folder/a', 'x')
    const io = open()
    const found = (await Array.fromAsync(io.list(root()))).map(({ location }) => location)
    expect(found).toHaveLength(32)
    expect(found).not.toContain(at('folder'))
    expect(await io.stat(at('folder'))).toBeUndefined()
    await expect(io.read(at('folder'))).rejects.toThrow(withCode('FILE_NOT_FOUND'))
    expect(await io.listFolders(root())).toEqual(['folder'])
  })
})

describe('an account that misbehaves', () => {
  it.each(PASSING)('creates a blob once, and recognizes it again: %s', async (fault) => {
    const io = open()
    failOnce(fault)
    await io.create(at('a'), bytes('mine'))
    expect(stored('a')).toBe('mine')
    failOnce(fault)
    await expect(io.create(at('a'), bytes('also mine'))).rejects.toThrow(withCode('FILE_EXISTS'))
    expect(stored('a')).toBe('mine')
  })

  it('counts a creation as its own when a proxy sent the request twice', async () => {
    store.fault = ({ method }) => (method === 'PUT' ? 'twice' : undefined)
    await open().create(at('v2.metadata.json'), bytes('mine'))
    await expect(open().create(at('v2.metadata.json'), bytes('other'))).rejects.toThrow(withCode('FILE_EXISTS'))
    expect(stored('v2.metadata.json')).toBe('mine')
  })

  it.each(PASSING)('does not report that a blob exists when it cannot know: always %s', async (fault) => {
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
    expect(Buffer.from(await io.read(at('a'))).toString('latin1')).toBe(stored('a'))
    store.fault = ({ method }) => (method === 'GET' ? 'cut-body' : undefined)
    const results = await Promise.allSettled([io.read(at('a')), io.readRange(at('a'), 100, 40_000)])
    for (const result of results) expect(result).toEqual({ status: 'rejected', reason: withCode('IO_FAILED') })
  })

  it('lists every blob once while requests fail', async () => {
    for (let n = 0; n < 40; n += 1) store.put(`lake/wh/${n}`, 'x')
    let count = 0
    store.fault = () => (['cut-body', 'fail-before', undefined] as const)[count++ % 3]
    expect(await Array.fromAsync(open().list(root()))).toHaveLength(40)
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
      expect(stored('big')).toBe(content.toString('latin1'))
      expect(existsSync(path)).toBe(false)
    },
  )

  it('stays when the account fails permanently', async () => {
    const path = await staged('kept')
    store.fault = ({ method }) => (method === 'PUT' ? 'fail-before' : undefined)
    await expect(open().moveIn(path, at('big'))).rejects.toThrow(withCode('IO_FAILED'))
    expect([existsSync(path), stored('big')]).toEqual([true, undefined])
  })

  it('never mixes with another one of the same name', async () => {
    const other = randomBytes(PART * 5)
    const paths = await Promise.all([staged('one'), staged('two', other)])
    const results = await Promise.allSettled(paths.map((path) => open().moveIn(path, at('big'))))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect([content.toString('latin1'), other.toString('latin1')]).toContain(stored('big'))
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

  it('for a container that does not exist', async () => {
    const pond = store.location('pond', 'wh')
    const io = open({}, [pond])
    const attempts = [io.read(`${pond}/a`), io.stat(`${pond}/a`), io.create(`${pond}/a`, bytes('x'))]
    for (const { message } of await Promise.all(attempts.map(failure))) expect(message).toMatch(/no such container/)
  })

  it('for a wrong key', async () => {
    const wrong = Buffer.from('another key of the account').toString('base64')
    const error = await failure(open({ 'adls.account-name': store.account, 'adls.account-key': wrong }).read(at('a')))
    expect(error.message).toMatch(/the account key or the token is wrong; check adls\.auth\.shared-key\.account\.key/)
    expect(shown(error)).not.toContain(wrong)
  })

  it('for an expired SAS token', async () => {
    const token = store.issueSas(-1)
    const error = await failure(open({ 'adls.sas-token': token }).read(at('a')))
    expect(error.message).toMatch(/SAS token is expired/)
    expect(shown(error)).not.toMatch(/fake%2F|secret/)
  })

  it('for a SAS token when nothing listens', async () => {
    const token = store.issueSas(60_000)
    const error = await failure(
      open({ 'adls.sas-token': token, 'adls.endpoint': 'http://127.0.0.1:1/a' }).read(at('a')),
    )
    expect(error.message).toMatch(/does not respond; check the location, adls\.endpoint/)
    expect(shown(error)).not.toMatch(/fake%2F|secret/)
  })

  it('for an identity that the machine does not have', async () => {
    vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'EnvironmentCredential') // the other parts of the chain start programs
    for (const name of ['AZURE_TENANT_ID', 'AZURE_CLIENT_ID', 'AZURE_CLIENT_SECRET']) vi.stubEnv(name, undefined)
    const io = open({ 'adls.connection-string': 'https://127.0.0.1:1/a' })
    const error = await failure(io.read(at('a')))
    expect(error).toEqual(withCode('IO_FAILED'))
    expect(error.message).toMatch(/there are no credentials; set adls\.auth\.shared-key\.account\.name/)
  })

  it('for the managed identity of the machine, which is asked for a token', async () => {
    const asked: string[] = []
    const server = createServer(({ url = '', headers }, response) => {
      asked.push(`${url} ${String(headers['x-identity-header'])}`)
      const expires_on = Math.floor(Date.now() / 1000) + 3600
      const token = {
        access_token: 'managed-token',
        expires_on,
        resource: 'https://storage.azure.com',
        token_type: 'Bearer',
      }
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(token))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'ManagedIdentityCredential')
    vi.stubEnv('IDENTITY_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`)
    vi.stubEnv('IDENTITY_HEADER', 'machine')
    const error = await failure(open({ 'adls.connection-string': 'https://127.0.0.1:1/a' }).read(at('a')))
    server.close()
    expect(error.message).toMatch(/does not respond/)
    expect(shown(error)).not.toContain('managed-token')
    expect(asked).toEqual([expect.stringMatching(/resource=https%3A%2F%2Fstorage\.azure\.com(%2F)? machine$/)])
  })

  it('for a wrong clock, missing permissions and a full account', async () => {
    store.clockAheadMs = 3_600_000
    expect((await failure(open().read(at('a')))).message).toMatch(/the clock of this machine is wrong/)
    store.clockAheadMs = 0
    store.fault = () => 'deny'
    expect((await failure(open().read(at('a')))).message).toMatch(
      /AuthorizationPermissionMismatch; check the credentials/,
    )
    await expect(open().stat(at('a'))).rejects.toThrow(withCode('IO_FAILED')) // hidden is not absent
    store.fault = () => 'full'
    await expect(open().create(at('a'), bytes('x'))).rejects.toThrow(withCode('NO_SPACE'))
  })

  it.each([
    'abfss://lake@lakeaccount.dfs.core.windows.net/wherever/a',
    'abfss://lake@lakeaccount.dfs.core.windows.net/wh/../secret',
    'abfss://lake@lakeaccount.dfs.core.windows.net/wh/./a',
    'abfss://pond@lakeaccount.dfs.core.windows.net/wh/a',
    'abfss://lake@other.dfs.core.windows.net/wh/a',
    'abfss://lake@lakeaccount.dfs.core.windows.net',
    'abfss://lake/wh/a',
    'https://lakeaccount.blob.core.windows.net/lake/wh/a',
    's3://lake/wh/a',
    '/wh/a',
    'abfss://lake@lakeaccount.dfs.core.windows.net/wh/a\0b',
  ])('for %j, which is not asked for', async (location) => {
    const io = open()
    await expect(io.read(location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    await expect(io.create(location, bytes('x'))).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    expect(store.calls).toEqual([])
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['an address', { 'adls.endpoint': 'hidden:9000' }, /adls\.endpoint must be an address/],
    ['a SAS token', { 'adls.sas-token.lakeaccount': 'hidden' }, /adls\.sas-token\.lakeaccount must be a SAS token/],
    ['a key', { 'adls.account-name': 'lakeaccount', 'adls.account-key': 'hidden!' }, /account\.key must be a key/],
    ['a key without a name', { 'adls.account-key': 'hiddenhiddenhidden' }, /account\.name must be set together/],
    [
      'a key of another account',
      { 'adls.account-name': 'pond', 'adls.account-key': 'hiddenhiddenhidden' },
      /must be the account of the location, which is lakeaccount/,
    ],
    [
      'a connection string',
      { 'adls.connection-string': 'AccountName=hidden' },
      /connection-string must be the address/,
    ],
    ['a client secret', { 'adls.client-secret': 'hidden' }, /client-secret needs adls\.tenant-id/],
    ['a token', { 'adls.token': 'hidden token' }, /adls\.token must be a bearer token/],
    ['a token without encryption', { 'adls.token': 'hidden', 'adls.endpoint': 'http://a' }, /must begin with https/],
  ])('for an invalid property: %s', (_, properties, message) => {
    const settings = () => azureSettings((name) => properties[name], [root()])
    expect(settings).toThrow(message)
    expect(settings).not.toThrow(/hidden/)
  })
})

it('gives up a request that makes no progress', async () => {
  const silent = withSilenceLimit(
    ({ abortSignal }) =>
      new Promise((_, reject) => {
        abortSignal.addEventListener('abort', () => reject(new Error('aborted')))
      }),
    20,
  )
  await expect(silent).rejects.toThrow('aborted')
})
