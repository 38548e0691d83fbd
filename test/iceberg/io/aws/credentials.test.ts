import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { s3Settings } from '../../../../src/catalog/stores/s3-settings.ts'
import { fixedCredentials, renewedCredentials } from '../../../../src/iceberg/io/objects/credential-source.ts'
import { S3FileIO } from '../../../../src/iceberg/io/s3/file-io.ts'
import { FakeS3 } from '../../../support/network/fake-s3.ts'
import { FakeSts } from '../../../support/network/fake-sts.ts'

const ARN = 'arn:aws:iam::123456789012:role/lake'
const HOUR_MS = 3_600_000
const bytes = new TextEncoder().encode('rows')
const keys = (name: string, expiresAtMs?: number) => ({
  accessKeyId: name,
  secretAccessKey: `secret of ${name}`,
  ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
})

describe('renewed credentials', () => {
  it('are obtained once for concurrent callers, and again only before they expire', async () => {
    let obtained = 0
    const source = renewedCredentials(async () => keys(`key ${(obtained += 1)}`, Date.now() + HOUR_MS))
    const all = await Promise.all([source.current(), source.current(), source.current()])
    expect([...all, await source.current()].map(({ accessKeyId }) => accessKeyId)).toEqual(Array(4).fill('key 1'))
    const expiring = renewedCredentials(async () => keys(`key ${(obtained += 1)}`, Date.now()))
    await expiring.current()
    expect((await expiring.current()).accessKeyId).toBe('key 3')
  })

  it('stay in use when a renewal fails and they are valid, and no longer', async () => {
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    try {
      let isDown = false
      const source = renewedCredentials(async () => {
        if (isDown) throw new Error('the service is down')
        return keys('old', 1_000_000 + HOUR_MS)
      })
      await source.current()
      isDown = true
      now.mockReturnValue(1_000_000 + HOUR_MS - 1)
      expect((await source.current()).accessKeyId).toBe('old')
      now.mockReturnValue(1_000_000 + HOUR_MS)
      await expect(source.current()).rejects.toThrow('the service is down')
    } finally {
      now.mockRestore()
    }
  })

  it('are replaced once for all requests that had the refused ones', async () => {
    let obtained = 0
    const source = renewedCredentials(async () => keys(`key ${(obtained += 1)}`))
    const refused = await source.current()
    expect(await Promise.all([source.replace(refused), source.replace(refused)])).toEqual([true, true])
    expect([(await source.current()).accessKeyId, obtained]).toEqual(['key 2', 2])
    const same = renewedCredentials(async () => keys('same'))
    expect(await same.replace(await same.current())).toBe(false)
  })
})

describe('credentials of an object store', () => {
  let store: FakeS3
  let sts: FakeSts
  let folder: string
  const environment = { ...process.env }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'aws-'))
  })
  beforeEach(async () => {
    store = await FakeS3.start('lake')
    sts = await FakeSts.start(store.accounts, { arn: ARN, externalId: 'ours', lifeMs: HOUR_MS })
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
    process.env['AWS_EC2_METADATA_DISABLED'] = 'true'
    process.env['AWS_CONFIG_FILE'] = join(folder, 'none')
    process.env['AWS_SHARED_CREDENTIALS_FILE'] = join(folder, 'none')
  })
  afterEach(async () => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
    Object.assign(process.env, environment)
    await Promise.all([store.close(), sts.close()])
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  function open(properties: Readonly<Record<string, string>> = {}): S3FileIO {
    const all: Record<string, string> = { 's3.endpoint': store.endpoint, ...properties }
    return new S3FileIO({ ...s3Settings((key) => all[key]), roots: ['s3://lake/'] })
  }

  const own = () => ({
    's3.access-key-id': store.credentials.accessKeyId,
    's3.secret-access-key': store.credentials.secretAccessKey,
  })
  const role = () => ({
    'client.assume-role.arn': ARN,
    'client.assume-role.external-id': 'ours',
    'client.assume-role.session-name': 'nightly',
    'client.assume-role.endpoint': sts.endpoint,
  })

  it('come from the environment, with a session token', async () => {
    const { accessKeyId, secretAccessKey, sessionToken } = store.accounts.issue({ lifeMs: HOUR_MS })
    process.env['AWS_ACCESS_KEY_ID'] = accessKeyId
    process.env['AWS_SECRET_ACCESS_KEY'] = secretAccessKey
    process.env['AWS_SESSION_TOKEN'] = sessionToken
    await open().write('s3://lake/a', bytes)
    expect(store.signers).toEqual([accessKeyId])
  })

  it('come from a profile that the settings name', async () => {
    const { accessKeyId, secretAccessKey } = store.credentials
    const file = join(folder, 'credentials')
    await writeFile(file, `[night]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`)
    process.env['AWS_SHARED_CREDENTIALS_FILE'] = file
    await open({ 'client.profile-name': 'night' }).write('s3://lake/a', bytes)
    expect(store.signers).toEqual([accessKeyId])
  })

  it('come from a web identity', async () => {
    const file = join(folder, 'token')
    await writeFile(file, 'a web identity')
    sts.webIdentity = 'a web identity'
    process.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = file
    process.env['AWS_ROLE_ARN'] = ARN
    process.env['AWS_ENDPOINT_URL_STS'] = sts.endpoint
    process.env['AWS_REGION'] = 'eu-west-1'
    await open().write('s3://lake/a', bytes)
    expect(store.signers).toEqual([store.accounts.issued[0]?.accessKeyId])
  })

  it('are missing without keys, and the error says what to set', async () => {
    await expect(open().read('s3://lake/a')).rejects.toThrow(/no credentials; set s3\.access-key-id/)
    expect(store.calls).toEqual([])
  })

  it('are those of an assumed role', async () => {
    await open({ ...own(), ...role() }).write('s3://lake/a', bytes)
    expect(store.signers).toEqual([store.accounts.issued[0]?.accessKeyId])
    const [asked] = sts.requests
    expect([asked?.get('RoleSessionName'), asked?.get('ExternalId')]).toEqual(['nightly', 'ours'])
  })

  it('are renewed while objects are read, whether the store calls them expired or unknown', async () => {
    sts.role = { ...sts.role, lifeMs: 300_000 }
    const io = open({ ...own(), ...role() })
    await io.write('s3://lake/a', bytes)
    sts.role = { ...sts.role, lifeMs: HOUR_MS }
    store.clockAheadMs = 400_000
    expect(Buffer.from(await io.read('s3://lake/a')).toString()).toBe('rows')
    store.accounts.revoke(store.accounts.issued[1]!)
    await Promise.all([io.create('s3://lake/b', bytes), io.create('s3://lake/c', bytes)])
    expect((await io.stat('s3://lake/a'))?.sizeBytes).toBe(4)
    expect(store.accounts.issued).toHaveLength(3)
  })

  it('are renewed when a request for the status of an object, whose answer has no text, is refused', async () => {
    sts.role = { ...sts.role, lifeMs: 300_000 }
    const io = open({ ...own(), ...role() })
    await io.write('s3://lake/a', bytes)
    sts.role = { ...sts.role, lifeMs: HOUR_MS }
    store.clockAheadMs = 400_000
    expect((await io.stat('s3://lake/a'))?.sizeBytes).toBe(4)
  })

  it('do not come from a role that may not be assumed', async () => {
    const io = open({ ...own(), ...role(), 'client.assume-role.external-id': 'theirs' })
    await expect(io.read('s3://lake/a')).rejects.toThrow(/role\/lake could not be assumed \(AccessDenied\)/)
    expect(store.calls).toEqual([])
  })

  it.each<[string, (store: FakeS3) => void, RegExp]>([
    ['the region is wrong', (s) => (s.region = 'eu-north-1'), /in another region: eu-north-1; set s3\.region/],
    ['the clock is wrong', (s) => (s.clockAheadMs = -HOUR_MS), /clock of this machine is wrong: the store has 20/],
    ['the token has expired', (s) => (s.clockAheadMs = 400_000), /expired or revoked \(ExpiredToken\)/],
    ['the keys are revoked', (s) => s.accounts.revoke(s.accounts.issued[0]!), /revoked \(InvalidAccessKeyId\)/],
  ])('are refused with the reason, and are not shown, when %s', async (_, change, message) => {
    const account = store.accounts.issue({ lifeMs: 300_000 })
    const { endpoint } = store
    const io = new S3FileIO({ endpoint, credentials: fixedCredentials(account), pathStyle: true, roots: ['s3://lake'] })
    change(store)
    const error = await io.read('s3://lake/a').catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(message)
    const shown = inspect(error, { depth: null, showHidden: true })
    expect(shown).not.toContain(account.sessionToken)
    expect(shown).not.toContain(account.secretAccessKey)
  })

  it('are not shown when the secret key is wrong', async () => {
    const account = store.accounts.issue({ lifeMs: HOUR_MS })
    const credentials = fixedCredentials({ ...account, secretAccessKey: 'wrong-key' })
    const io = new S3FileIO({ endpoint: store.endpoint, credentials, pathStyle: true, roots: ['s3://lake'] })
    const error = await io.read('s3://lake/a').catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(/SignatureDoesNotMatch; check s3\.secret-access-key/)
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(account.sessionToken ?? 'none')
  })

  it.each([
    ['client.assume-role.arn', 'lake'],
    ['client.assume-role.timeout-sec', 'soon'],
    ['client.assume-role.endpoint', 'sts:1'],
  ])('are refused as settings for an invalid %s, without its value', (key, value) => {
    const properties: Record<string, string> = { ...own(), ...role(), [key]: value }
    const message = new RegExp(`^extra_props\\.${key.replaceAll('.', '\\.')} must be (?!.*${value}$)`)
    expect(() => s3Settings((name) => properties[name])).toThrow(message)
  })
})
