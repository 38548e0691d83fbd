import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { TEST_LIMITS } from '../../../../src/services/catalogs/connection-test/run-checks.ts'
import { numbered, openLab, type StreamLab } from '../../../streaming/support.ts'
import { FakeS3 } from '../../../support/network/fake-s3.ts'
import { Relay } from '../../../support/network/relay.ts'
import { until } from '../../../support/waiting.ts'
import { find, outcomes, testDraft } from './support.ts'

describe('a test of a catalog with its tables in an object store', () => {
  const limits = { ...TEST_LIMITS }
  let store: FakeS3
  let relay: Relay
  let lab: StreamLab
  let settings: { readonly extra_props: Readonly<Record<string, string>> }
  beforeAll(async () => {
    store = await FakeS3.start('lake')
    relay = await Relay.start({ host: '127.0.0.1', port: Number(new URL(store.endpoint).port) })
    lab = await openLab({ overrides: { connectionTestLimits: limits } })
    settings = {
      catalog_type: 'sql',
      catalog_name: 'house',
      warehouse: 's3://lake/warehouse',
      uri: `sqlite:///${lab.service.folder}/s3.db`,
      create: true,
      extra_props: {
        's3.endpoint': `http://127.0.0.1:${relay.port}`,
        's3.access-key-id': store.credentials.accessKeyId,
        's3.secret-access-key': store.credentials.secretAccessKey,
      },
    } as typeof settings
    expect((await lab.service.call('PUT', '/api/config', { body: settings })).status).toBe(200)
    await lab.catalog().createNamespace(['s'])
    await lab.createTable('s.a', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.a', numbered(0, 5))
  })
  afterEach(() => {
    store.fault = undefined
    relay.judge = () => 'pass'
    Object.assign(limits, TEST_LIMITS)
  })
  afterAll(async () => {
    await lab.close()
    await relay.close()
    await store.close()
  })

  const objects = () => new Map([...store.objects].map(([name, { bytes }]) => [name, bytes.toString('hex')]))
  const test = (properties: Record<string, string> = {}) =>
    testDraft(lab.service, { ...settings, extra_props: { ...settings.extra_props, ...properties } })

  it('finds that all works with static keys, and leaves every object as it was', async () => {
    const before = objects()
    const result = await test()
    expect(result.outcome, JSON.stringify(result)).toBe('ok')
    expect(outcomes(result).filter((line) => !line.endsWith(': ok'))).toEqual([])
    expect(find(result, 'credentials').detail).toBe('Files are accessed with static keys of s3.access-key-id.')
    expect(objects()).toEqual(before)
  })

  it.each<[string, () => Record<string, string>, RegExp]>([
    ['an unknown access key', () => ({ 's3.access-key-id': 'AKIDOTHER' }), /unknown, expired or revoked/],
    [
      'a wrong secret key',
      () => ({ 's3.secret-access-key': 'wrong-secret' }),
      /SignatureDoesNotMatch; check s3\.secret/,
    ],
    ['an expired session', expiredSession, /unknown, expired or revoked \(ExpiredToken\)/],
  ])('names the credentials to check with %s, without a secret', async (_, properties, detail) => {
    const given = properties()
    const before = objects()
    const result = await test(given)
    expect(outcomes(result)).toEqual([
      'reach: ok',
      'list: ok',
      'load: failed',
      'read: skipped',
      'write: failed',
      'commit: ok',
      'credentials: ok',
    ])
    expect(find(result, 'load').detail).toMatch(detail)
    expect(find(result, 'write').detail).not.toContain('may remain')
    for (const secret of Object.values(given)) expect(JSON.stringify(result)).not.toContain(secret)
    expect(objects()).toEqual(before)
  })

  function expiredSession(): Record<string, string> {
    const { accessKeyId, secretAccessKey, sessionToken = '' } = store.accounts.issue({ lifeMs: -1000 })
    return {
      's3.access-key-id': accessKeyId,
      's3.secret-access-key': secretAccessKey,
      's3.session-token': sessionToken,
    }
  }

  it('names the probe that could not be deleted', async () => {
    const before = objects()
    store.fault = ({ method }) => (method === 'DELETE' ? 'deny' : undefined)
    const { outcome, detail } = find(await test(), 'write')
    const location = /s3:\/\/lake\/warehouse\/lockhouse-probe-[\w-]+\.txt/.exec(detail)?.[0] ?? ''
    expect(outcome).toBe('failed')
    const remaining = new Map(objects())
    expect(remaining.delete(location.slice('s3://'.length))).toBe(true)
    expect(remaining).toEqual(before)
    store.objects.delete(location.slice('s3://'.length))
  })

  it('deletes a probe also when the store answers only after the time of the check', async () => {
    const before = objects()
    relay.judge = (piece, from) => (from === 'client' && piece.includes('PUT ') ? 'stall' : 'pass')
    limits.checkMs = 3000
    const { outcome, detail } = find(await test(), 'write')
    expect([outcome, detail]).toEqual([
      'failed',
      expect.stringMatching(/^There was no result within 3 s\. The file s3:/),
    ])
    relay.judge = () => 'pass'
    relay.cut()
    await until(() => store.calls.some((call) => call.startsWith('DELETE warehouse/lockhouse-probe-')))
    await until(() => objects().size === before.size)
    expect(objects()).toEqual(before)
  })
  it('deletes its probe before the service has stopped', async () => {
    const before = objects()
    const stalled = Promise.withResolvers<void>()
    relay.judge = (piece, from) => {
      if (from !== 'client' || !piece.includes('PUT ')) return 'pass'
      stalled.resolve()
      return 'stall'
    }
    const running = lab.service.post('/api/config/test', settings)
    await stalled.promise
    const deletions = store.calls.filter((call) => call.startsWith('DELETE')).length
    const closed = lab.service.context.close()
    await running
    relay.judge = () => 'pass'
    relay.cut()
    await closed
    // one that was cut is sent again
    expect(store.calls.filter((call) => call.startsWith('DELETE')).length).toBeGreaterThan(deletions)
    expect(objects()).toEqual(before)
  })
})
