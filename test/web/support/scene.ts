import type { House } from './house.ts'

/** The data for the screenshots and checks of all pages. */
export interface Scene {
  readonly engineer: string
  readonly auditor: string
  readonly definition: string
  /** Query string of the page that compares its second version with its first. */
  readonly comparison: string
  readonly request: string
  readonly pipeline: string
  readonly operation: string
  readonly chat: string
  readonly policy: string
}

const place = (x: number, y = 0) => ({ x, y })

/** Large orders, as nodes that can run. */
export const LARGE_ORDERS = {
  nodes: [
    { id: 'orders', type: 'iceberg-source', config: { table: 'demo.orders' }, position: place(0) },
    { id: 'large', type: 'filter', config: { condition: 'total > 100' }, position: place(280) },
    { id: 'sink', type: 'iceberg-sink', config: { table: 'demo.large_orders' }, position: place(560) },
  ],
  edges: [
    { id: 'e1', source: 'orders', target: 'large' },
    { id: 'e2', source: 'large', target: 'sink' },
  ],
}

/**
 * A lakehouse in use: settings of environments, a definition with versions in production and qa and one that waits for approval, a running
 * pipeline, a finished compaction, a conversation with a proposal.
 */
export async function makeScene(house: House): Promise<Scene> {
  const { call } = house
  await setEnvironments(house)
  const engineer = await house.addUser('ana', 'DataEngineer')
  const auditor = await house.addUser('bo', 'Auditor')
  const made = await call(
    'POST',
    '/api/pipeline-defs',
    { name: 'Large orders', description: 'Orders over 100, for the daily report', ...LARGE_ORDERS },
    engineer,
  )
  const definition: string = made.definition.id
  const versions = `/api/pipeline-defs/${definition}/versions`
  await promote(house, engineer, `${versions}/${made.version.id}`)
  const filtered = {
    ...LARGE_ORDERS,
    nodes: LARGE_ORDERS.nodes.map((node) =>
      node.id === 'large' ? { ...node, config: { condition: 'total > 250' } } : node,
    ),
  }
  const second = await call('POST', versions, filtered, engineer)
  await call('POST', `${versions}/${second.id}/promote`, undefined, engineer)
  const request = await call('POST', `${versions}/${second.id}/promote`, undefined, engineer)
  await call(
    'POST',
    `/api/approvals/${request.id}/comments`,
    { comment: 'The report wants larger ones only.' },
    engineer,
  )
  await call('POST', versions, LARGE_ORDERS, engineer)
  const { pipeline } = await call(
    'POST',
    '/api/pipeline/start',
    {
      source_table: 'demo.trips',
      sink_table: 'demo.trips_copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/trips_copy',
      trigger_interval: '1 second',
      max_files_per_batch: 1, // runs for more than a minute
    },
    engineer,
  )
  const { operation_id: operation } = await call('POST', '/api/compact', { table: 'demo.trips' }, engineer)
  const policy = await call('POST', '/api/policies', {
    name: 'nightly',
    tables: ['demo.*'],
    operations: [{ operation: 'compact' }, { operation: 'expire', options: { retain_last: 20 } }],
    when: { health_below: 80 },
  })
  const answer = await call('POST', '/api/agent/chat', { prompt: 'Compact demo.events', provider: 'builtin' })
  return {
    engineer,
    auditor,
    definition,
    comparison: `version=${second.id}&compare=${made.version.id}`,
    request: request.id,
    pipeline: pipeline.id,
    operation,
    chat: answer.chat_id,
    policy: policy.id,
  }
}

async function setEnvironments({ call }: House): Promise<void> {
  await call('PUT', '/api/environments/development', { parameters: { schema: 'demo', min_total: 100, strict: false } })
  await call('PUT', '/api/environments/qa', { parameters: { schema: 'demo', min_total: 100 }, deploy: 'on_arrival' })
  await call('PUT', '/api/environments/production', {
    parameters: { schema: 'demo', min_total: 250, strict: true, api_key: 'env:LAKE_API_KEY' },
    writes: ['demo.large_orders', 'reports.*'],
    defaults: { trigger_interval: '1 min' },
  })
}

/** Promotes an engineer's version to production, through the approvals of the lead. */
async function promote({ call }: House, engineer: string, version: string): Promise<void> {
  await call('POST', `${version}/promote`, undefined, engineer)
  for (let i = 0; i < 2; i++) {
    const { id } = await call('POST', `${version}/promote`, undefined, engineer)
    await call('POST', `/api/approvals/${id}/approve`, {})
  }
}
