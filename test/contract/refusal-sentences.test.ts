import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GRAPH } from '../support/lifecycle.ts'
import { startTestService, type TestService } from '../support/service.ts'

const POLICY = { name: 'p', tables: ['*.*'], operations: [{ operation: 'compact' }], when: { health_below: 80 } }
const [read, write] = GRAPH.nodes
const CHECKPOINT = {
  source_table: 's.a',
  sink_table: 's.b',
  checkpoint_location: 'checkpoints/a',
  trigger_interval: '1 s',
}

describe('the detail of a refusal', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService()
  })
  afterAll(() => service.close())

  it.each<[string, string, object, string]>([
    [
      'POST',
      '/api/policies',
      { ...POLICY, window: { days: ['mon'], from: '01:00', to: '02:00', timezone: 'Mars/Base' } },
      'window.timezone must be',
    ],
    [
      'POST',
      '/api/alerts',
      { name: 'a', events: ['*'], channel: { type: 'slack', url: '***' } },
      'channel.url has no stored value to keep',
    ],
    [
      'POST',
      '/api/alerts',
      { name: 'a', events: ['*'], channel: { type: 'webhook', url: 'http://127.0.0.1/x' } },
      'channel.url is a private, loopback or link-local address',
    ],
    ['PUT', '/api/environments/qa', { defaults: { checkpoint_root: '/etc' } }, 'defaults.checkpoint_root must be'],
    [
      'POST',
      '/api/pipeline-defs',
      { name: 'd', nodes: [read, { ...write, id: 'read' }], edges: [] },
      'nodes.1.id must be unique, and "read" is used twice',
    ],
    [
      'POST',
      '/api/pipeline-defs',
      { name: 'd', nodes: [read], edges: [{ id: 'e', source: 'read', target: 'gone' }] },
      'edges.0.target names the node "gone", which does not exist',
    ],
    [
      'POST',
      '/api/pipeline/start',
      { version_id: 'ver-none', checkpoint_location: 'checkpoints/a', trigger_interval: '1 s' },
      'version_id names no version: ver-none',
    ],
    ['POST', '/api/pipeline/start', { ...CHECKPOINT, trigger_interval: 'often' }, 'trigger_interval must be'],
    ['POST', '/api/pipeline/start', CHECKPOINT, 'source_table: table s.a does not exist'],
    [
      'PUT',
      '/api/config',
      {
        catalog_type: 'sql',
        catalog_name: 'c',
        warehouse: '/tmp/none',
        uri: 'sqlite:////tmp/lockhouse-none/none.db',
        extra_props: {},
      },
      'uri is in a folder that does not exist',
    ],
    [
      'PUT',
      '/api/config',
      { catalog_type: 'hadoop', catalog_name: 'c', warehouse: '/tmp/lockhouse-none', extra_props: {} },
      'warehouse names a folder that does not exist',
    ],
  ])('is a sentence about the first field after %s %s', async (method, path, body, beginning) => {
    const answer = await service.call(method, path, { body })
    const { detail, errors } = answer.body
    expect(detail.slice(0, beginning.length), JSON.stringify(answer.body)).toBe(beginning)
    expect(errors[0].path).toBe(beginning.split(/:? /)[0])
    expect(detail).toContain(errors[0].message)
  })
})
