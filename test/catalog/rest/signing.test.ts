import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommitRequest } from '../../../src/catalog/catalog.ts'
import { restSettings } from '../../../src/catalog/rest/settings.ts'
import { type AwsAccount, AwsAccounts } from '../../support/network/sigv4.ts'
import { FakeSts } from '../../support/network/fake-sts.ts'
import { FakeRestServer } from './rest-server.ts'
import { restStore } from './rest-support.ts'

const HOUR_MS = 3_600_000
const ARN = 'arn:aws:iam::123456789012:role/catalog'
const TABLE = { namespace: ['sales data', 'eu%west+'], name: "o'rders (new)*!" }

describe('requests signed for AWS', () => {
  let server: FakeRestServer
  let accounts: AwsAccounts
  let user: AwsAccount
  let folder: string
  let warehouse: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sigv4-'))
    server = await FakeRestServer.start()
    warehouse = server.addWarehouse(join(folder, 'warehouse'))
    accounts = new AwsAccounts()
    user = { accessKeyId: 'AKIDUSER', secretAccessKey: 'secret-of-the-user' }
    accounts.add(user)
    server.options = { signing: { accounts, service: 'glue', region: 'eu-west-1' } }
  })
  afterEach(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })

  const properties = ({ accessKeyId, secretAccessKey, sessionToken } = user): Record<string, string> => ({
    'rest.sigv4-enabled': 'true',
    'rest.signing-name': 'glue',
    'rest.signing-region': 'eu-west-1',
    'rest.access-key-id': accessKeyId,
    'rest.secret-access-key': secretAccessKey,
    ...(sessionToken === undefined ? {} : { 'rest.session-token': sessionToken }),
  })
  const open = (extraProps: Record<string, string>) =>
    restStore({ uri: server.uri, warehouse, folder, extraProps }).open()
  const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error)
  const setProperty: CommitRequest = {
    requirements: [],
    updates: [{ action: 'set-properties', updates: { comment: 'ä – "quoted" + % text' } }],
  }

  it('are accepted for all requests, whatever the names contain', async () => {
    const catalog = open({ ...properties(), 'header.x-tenant': ' two   words ' })
    await catalog.createNamespace(TABLE.namespace)
    await catalog.createTable(TABLE, { schema: { schemaId: 0, identifierFieldIds: [], fields: [] } })
    expect(await catalog.listTables()).toEqual([TABLE])
    expect((await catalog.commit(TABLE, setProperty)).kind).toBe('committed')
    expect((await catalog.loadTable(TABLE)).metadata.properties['comment']).toContain('ä')
    await catalog.dropTable(TABLE)
  })

  it('keep the bearer token in another header', async () => {
    server.tokens.add('the-token')
    await open({ ...properties(), token: 'the-token' })
      .ping()
      .catch(() => undefined)
    const [first] = server.requests
    expect(first?.headers['original-authorization']).toBe('Bearer the-token')
    expect(first?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDUSER\//)
  })

  it('are signed anew for each attempt', async () => {
    server.fail(/GET .*namespaces/, { kind: 'status', status: 503, headers: { 'Retry-After': '0' } })
    await open(properties()).ping()
    expect(server.seen(/GET .*namespaces/)).toHaveLength(2)
    server.fail(/POST .*namespaces/, { kind: 'status', status: 503 })
    const created = await failure(open(properties()).createNamespace(['a']))
    expect(String(created)).toMatch(/status 503/)
  })

  it('use the credentials of an assumed role, and new ones when they expire', async () => {
    const sts = await FakeSts.start(accounts, { arn: ARN, lifeMs: 300_000 })
    try {
      const keys = { 's3.access-key-id': user.accessKeyId, 's3.secret-access-key': user.secretAccessKey }
      const role = { 'client.assume-role.arn': ARN, 'client.assume-role.endpoint': sts.endpoint }
      const { 'rest.access-key-id': _id, 'rest.secret-access-key': _key, ...signing } = properties()
      const catalog = open({ ...signing, ...keys, ...role })
      await catalog.createNamespace(['a'])
      sts.role = { ...sts.role, lifeMs: HOUR_MS }
      server.options = { signing: { accounts, service: 'glue', region: 'eu-west-1', clockAheadMs: 400_000 } }
      await catalog.createNamespace(['b'])
      expect(accounts.issued).toHaveLength(2)
      accounts.revoke(accounts.issued[1]!)
      sts.isDenying = true
      const outcome = await catalog.commit({ namespace: ['a'], name: 't' }, setProperty)
      expect(outcome.kind).toBe('refused') // certainly not sent
    } finally {
      await sts.close()
    }
  })

  it.each<[string, (account: AwsAccount) => Record<string, string>, number, RegExp]>([
    [
      'the region is wrong',
      (a) => ({ ...properties(a), 'rest.signing-region': 'us-east-1' }),
      0,
      /rest\.signing-region/,
    ],
    ['the service is wrong', (a) => ({ ...properties(a), 'rest.signing-name': 's3tables' }), 0, /rest\.signing-name/],
    ['the secret is wrong', (a) => ({ ...properties(a), 'rest.secret-access-key': 'x' }), 0, /SignatureDoesNotMatch/],
    ['the token has expired', properties, 400_000, /token included in the request is expired/],
    [
      'the clock is ahead',
      properties,
      -HOUR_MS,
      /clock of this machine is 60 minutes ahead of the catalog's: correct it/,
    ],
    [
      'the clock is behind',
      properties,
      HOUR_MS,
      /clock of this machine is 60 minutes behind the catalog's: correct it/,
    ],
  ])('are refused with the reason, without a secret, when %s', async (_, settings, clockAheadMs, message) => {
    const account = accounts.issue({ lifeMs: 300_000 })
    server.options = { signing: { accounts, service: 'glue', region: 'eu-west-1', clockAheadMs } }
    const error = await failure(open(settings(account)).ping())
    expect(String(error)).toMatch(message)
    expect(server.requests).toHaveLength(1)
    const shown = inspect(error, { depth: null, showHidden: true })
    expect(shown).not.toContain(account.sessionToken)
    expect(shown).not.toContain(account.secretAccessKey)
  })

  it.each([
    [{ 'rest.sigv4-enabled': 'true' }, /rest\.signing-region must be set/],
    [{ 'rest.sigv4-enabled': 'true', 'client.region': 'r', 'rest.access-key-id': 'A' }, /must be set together/],
    [{ 'header.X-Amz-Date': 'now' }, /is set by the protocol/],
  ])('are refused as settings: %j', (extraProps, message) => {
    const settings = { catalogType: 'rest', catalogName: 'c', warehouse: 'w', uri: 'http://h', extraProps } as const
    expect(() => restSettings(settings, () => undefined)).toThrow(message)
  })
})
