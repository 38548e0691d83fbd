import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../support/service.ts'

const policy = { name: 'n', tables: ['a.*'], operations: [{ operation: 'compact' }], when: { health_below: 80 } }
const alert = { name: 'n', events: ['pipeline.failed'], channel: { type: 'slack', url: 'env:NOPE' } }
const sink = { sink_table: 'demo.c', create_sink_table: true, checkpoint_location: 'c' }
const pipeline = { source_table: 'demo.events', trigger_interval: '1 second', ...sink }
const token = { user: 'ana', role: 'Auditor', name: 'x' }
const zone = { schedule: { cron: '0 3 * * *', timezone: 'Mars/Base' } }
const cron = { schedule: { cron: '99 * * * *', timezone: 'UTC' } }
const sql = { catalog_type: 'sql', catalog_name: 'default', warehouse: 'file:///tmp', uri: 'mysql://x' }

/** What a change of an environment needs. */
const REVISION = { 'If-Match': '"0"' }

describe('the message of a refused request', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ events: { commits: 1, filesPerCommit: 1, rowsPerFile: 1 } })
  })
  afterAll(() => service.close())

  it.each<[string, string, unknown, RegExp]>([
    ['POST', '/api/compact', {}, /^table is required$/],
    ['POST', '/api/compact', { table: 5 }, /^table must be text, not a number$/],
    ['POST', '/api/compact', { table: 'demo.events', bogus: 1 }, /^bogus is not a known field$/],
    ['POST', '/api/compact', { table: 'demo.none', dry_run: true }, /^Table demo\.none does not exist\.$/],
    ['POST', '/api/compact', { table: 'demo.events', where: '1 =' }, /^where: expected a column name, .+$/],
    ['POST', '/api/expire', { table: 'demo.events', older_than: 'noon' }, /^older_than must be a time such as 2.+Z$/],
    [
      'POST',
      '/api/policies',
      { ...policy, when: zone },
      /^when\.schedule\.timezone must be .+ such as Europe\/Berlin$/,
    ],
    ['POST', '/api/policies', { ...policy, when: cron }, /^when\.schedule\.cron must .+ such as 0 3 \* \* \*/],
    ['POST', '/api/policies', { ...policy, mode: 'fast' }, /^mode must be one of shadow, active$/],
    ['POST', '/api/alerts', alert, /^channel\.url: env:NOPE cannot be read: only names that start with LAKE_.+$/],
    ['POST', '/api/alerts', { ...alert, for: 'long' }, /^for must be a number and a unit, such as 10 minutes$/],
    ['POST', '/api/alerts', { ...alert, for: '9 days' }, /^(for|channel)/],
    ['POST', '/api/pipeline/start', { ...pipeline, trigger_interval: 'often' }, /^trigger_interval:? must be .+ 24 h$/],
    ['POST', '/api/pipeline/start', { ...pipeline, checkpoint_location: '../x' }, /^checkpoint_location must not .+$/],
    [
      'POST',
      '/api/pipeline/start',
      { ...pipeline, checkpoint_location: '/etc' },
      /^checkpoint_location must be inside/,
    ],
    ['POST', '/api/auth/tokens', { ...token, role: 'King' }, /^role must be one of Auditor, DataEngineer, LeadDat.+$/],
    ['POST', '/api/auth/tokens', { ...token, expires_at: '2001-01-01T00:00:00Z' }, /^expires_at must be in the future/],
    ['PUT', '/api/config', sql, /^uri of a sql catalog must be sqlite:\/\/\/path.+$/],
    [
      'PUT',
      '/api/config',
      { ...sql, uri: 'postgresql://a:***@h/d' },
      /^uri is \*\*\*, but there is no stored value.+$/,
    ],
    ['GET', '/api/tables?page_size=0', undefined, /^page_size must be 1 or more$/],
    ['GET', '/api/tables?page_token=zz', undefined, /^page_token must be the next_page_token of an answer .+$/],
    ['GET', '/api/audit?action=a&action=b', undefined, /^action is given more than once$/],
    ['GET', '/api/audit?from=noon', undefined, /^from must be a time such as 2.+Z$/],
    ['GET', '/api/deployments?environment=mars', undefined, /^environment must be one of development, qa, uat, pro.+$/],
    ['PUT', '/api/environments/qa', {}, /^the body must have at least one member$/],
  ])('of %s %s with %j names the field and a right value', async (method, path, body, message) => {
    const answer = await service.call(method, path, { body, headers: path.includes('/environments/') ? REVISION : {} })
    expect(answer.body.detail).toMatch(message)
    expect(answer.body.detail).not.toMatch(/invalid input|expected string|undefined|\bNaN\b/i)
  })
})
