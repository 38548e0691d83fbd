import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EventView } from '../../../src/services/events/event-feed.ts'
import { NAMESPACE } from '../../support/kubernetes-api/fake-kubernetes.ts'
import { type FakeJupyter, startFakeJupyter } from '../../notebooks/support/fake-jupyter.ts'
import { type NotebookHarness, startNotebookHarness } from '../../notebooks/support/notebook-service.ts'
import { until } from '../../support/waiting.ts'
import { LONG, shares } from '../../support/effort.ts'

const MINUTE = 60_000
const IDLE = 60 * MINUTE
const WARNING = 10 * MINUTE

let jupyter: FakeJupyter
let harness: NotebookHarness
let token: string
/** How far the service's clock is ahead of the machine's clock, in ms. */
let ahead = 0

beforeEach(async () => {
  ahead = 0
  jupyter = await startFakeJupyter()
  harness = await startNotebookHarness({
    overrides: {
      now: () => new Date(Date.now() + ahead),
      notebooks: { cullMs: 20, idleMs: IDLE, warningMs: WARNING, addressOf: () => jupyter.url },
    },
    env: { NOTEBOOK_TOKEN_HOURS: '168' },
  })
  token = await harness.tokenOf('ana')
  await harness.start(token)
  await harness.reach(token, 'running')
})
afterEach(async () => {
  await harness.close()
  await jupyter.close()
})

const at = (offset: number): string => new Date(Date.now() + ahead + offset).toISOString()

/** Waits until the culler has checked the notebook at least twice in its current state. */
async function look(): Promise<void> {
  const seen = jupyter.requests.length
  await until(() => jupyter.requests.length >= seen + 6)
}

async function events(type: string): Promise<EventView[]> {
  const { body } = await harness.service.get('/api/events?since=0')
  return body.events.filter((event: EventView) => event.type === type)
}

const IDLE_REASON = expect.stringMatching(/^it is idle and will be stopped at /)
const isThere = (): boolean => harness.cluster.api.names('pods').length === 1

describe('an idle notebook', LONG, () => {
  it('gets one warning, and is stopped at the announced time', async () => {
    const { session_id } = (await harness.status(token)).body
    ahead = IDLE - WARNING - MINUTE
    await look()
    expect((await harness.status(token)).body.expires_at).toBeUndefined()
    ahead = IDLE - WARNING + MINUTE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    const { body } = await harness.status(token)
    expect(body).toMatchObject({
      status: 'running',
      reason: `it is idle and will be stopped at ${body.expires_at}`,
    })
    expect(Date.parse(body.expires_at) - Date.parse(body.last_activity)).toBeGreaterThanOrEqual(IDLE)
    await look()
    ahead = Date.parse(body.expires_at) - Date.now() - MINUTE
    await look()
    expect(isThere()).toBe(true)
    expect(await events('notebook.idle')).toMatchObject([
      { object_id: session_id, data: { expires_at: body.expires_at } },
    ])
    ahead += 2 * MINUTE
    await until(() => !isThere())
    await until(async () => (await harness.status(token)).body.status === 'not_found')
    await until(async () => (await events('notebook.stopped')).length === 1)
    expect(await events('notebook.stopped')).toMatchObject([{ object_id: session_id, data: { reason: 'idle' } }])
    const { body: audit } = await harness.service.get('/api/audit?object=ana')
    const stop = audit.find(({ action }: { action: string }) => action === 'notebook.stop')
    expect(stop).toMatchObject({ channel: 'system', actor: null, details: { reason: 'idle' } })
    const { body: tokens } = await harness.service.get('/api/auth/tokens')
    const own = tokens.filter(({ name }: { name: string }) => name.startsWith('notebook'))
    expect(own.map((one: { revoked_at: string | null }) => one.revoked_at !== null)).toEqual([true])
  })

  it('gets a full warning time, even when nobody checked it for days', async () => {
    ahead = 3 * 24 * IDLE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    const { expires_at } = (await harness.status(token)).body
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.now() + ahead + WARNING - MINUTE)
    await look()
    expect(isThere()).toBe(true)
  })

  it('with an open but unused tab is stopped', async () => {
    // The tab sends requests all the time, but its kernel has been idle for a long time.
    jupyter.kernels = [{ id: 'k', execution_state: 'idle', last_activity: at(0) }]
    await look()
    ahead = IDLE + MINUTE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    ahead += WARNING + MINUTE
    await until(() => !isThere())
    expect(await events('notebook.idle')).toHaveLength(1)
  })
})

describe('a notebook in use', LONG, () => {
  it('with a busy kernel is never stopped', async () => {
    jupyter.kernels = [
      { id: 'k', execution_state: 'idle', last_activity: at(0) },
      { id: 'l', execution_state: 'busy', last_activity: at(0) },
    ]
    for (let days = 1; days < 5; days++) {
      ahead = days * 24 * IDLE
      await look()
      expect((await harness.status(token)).body).not.toHaveProperty('expires_at')
    }
    expect(isThere()).toBe(true)
  })

  it.each(['kernel', 'terminal'])('by its %s is kept', async (kind) => {
    ahead = IDLE - MINUTE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    if (kind === 'kernel') jupyter.kernels = [{ id: 'k', execution_state: 'idle', last_activity: at(-1000) }]
    else jupyter.terminals = [{ name: '1', last_activity: at(-1000) }]
    await until(async () => (await harness.status(token)).body.expires_at === undefined)
    ahead += WARNING + MINUTE
    await look()
    expect(isThere()).toBe(true)
  })

  it('through the proxy is kept', async () => {
    ahead = IDLE - MINUTE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    harness.service.context.app.notebooks.touched('ana')
    await until(async () => (await harness.status(token)).body.expires_at === undefined)
    ahead += WARNING + MINUTE
    await look()
    expect(isThere()).toBe(true)
  })

  it('that is started again is kept', async () => {
    ahead = IDLE - MINUTE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    expect((await harness.start(token)).body).not.toHaveProperty('expires_at')
  })

  it('with a wrong clock still counts as idle', async () => {
    jupyter.kernels = [{ id: 'k', execution_state: 'idle', last_activity: '2999-01-01T00:00:00Z' }]
    await look()
    jupyter.kernels = [{ id: 'k', execution_state: 'idle', last_activity: 'yesterday' }]
    ahead = 2 * IDLE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    expect((await harness.status(token)).body).toMatchObject({ status: 'running', reason: IDLE_REASON })
  })
})

describe('a notebook that does not report its activity', LONG, () => {
  const moods = ['error', 'redirect', 'hang', 'html', 'huge', 'no-list', 'not-here'] as const
  for (const [cases, options] of shares(moods, 2)) {
    it.each(cases)('(%s) is kept', options, async (mood) => {
      jupyter.mood = mood
      ahead = 2 * IDLE
      const seen = jupyter.requests.length
      await until(() => jupyter.requests.length > seen + (mood === 'hang' ? 1 : 6))
      expect((await harness.status(token)).body).not.toHaveProperty('expires_at')
      expect(isThere()).toBe(true)
      expect(jupyter.requests.some(({ path }) => path === '/elsewhere')).toBe(false)
    })
  }

  it('because it has no terminals is judged by its kernels', async () => {
    jupyter.terminals = undefined
    ahead = 2 * IDLE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    expect((await harness.status(token)).body).toMatchObject({ status: 'running', reason: IDLE_REASON })
  })
})

it('requests the status of a notebook under its path and with its own token', async () => {
  await look()
  const { session_id } = (await harness.status(token)).body
  const secret = harness.cluster.api.store.get('secrets', NAMESPACE, `notebook-ana-${session_id}`)
  const own = Buffer.from(secret?.['data']['jupyter-token'], 'base64').toString()
  expect(jupyter.requests.map(({ path }) => path)).toContain('/notebook/ana/api/kernels')
  expect(new Set(jupyter.requests.map(({ authorization }) => authorization))).toEqual(new Set([`token ${own}`]))
})

describe('cleanup', LONG, () => {
  it('removes the remaining objects of a notebook whose pod the cluster deleted', async () => {
    harness.cluster.api.store.remove('pods', NAMESPACE, 'notebook-ana')
    await until(async () => (await events('notebook.stopped')).length === 1)
    expect(await events('notebook.stopped')).toMatchObject([{ data: { reason: 'lost' } }])
    const { body: tokens } = await harness.service.get('/api/auth/tokens')
    for (const one of tokens) if (one.name.startsWith('notebook')) expect(one.revoked_at).not.toBeNull()
  })

  it('removes a finished server at once, and a failed one after the idle time', async () => {
    const { api } = harness.cluster
    const [bo, cy] = [await harness.tokenOf('bo'), await harness.tokenOf('cy')]
    api.life = 'ends'
    await harness.start(bo)
    await until(() => !api.names('pods').includes('notebook-bo'))
    api.life = 'image-pull'
    await harness.start(cy)
    await harness.reach(cy, 'failed')
    await look()
    expect(api.names('pods')).toContain('notebook-cy')
    jupyter.kernels = [{ id: 'k', execution_state: 'busy', last_activity: at(0) }] // kernel of ana
    ahead = IDLE + MINUTE
    await until(() => !api.names('pods').includes('notebook-cy'))
    expect(api.names('pods')).toEqual(['notebook-ana'])
  })

  it('handles an incomplete start', async () => {
    const { api } = harness.cluster
    api.faults.add({ verb: 'create', resource: 'secrets', times: 1000, action: { status: 500 } })
    const bo = await harness.tokenOf('bo')
    expect((await harness.start(bo)).status).toBe(503)
    api.faults.clear()
    expect(api.names('pods')).toContain('notebook-bo')
    jupyter.kernels = [{ id: 'k', execution_state: 'busy', last_activity: at(0) }]
    ahead = IDLE + MINUTE
    await until(() => !api.names('pods').includes('notebook-bo'))
  })
})

describe('a failing cluster', LONG, () => {
  it('does not stop the culler', async () => {
    const { api } = harness.cluster
    ahead = IDLE + MINUTE
    await until(async () => (await harness.status(token)).body.expires_at !== undefined)
    api.faults.add({ verb: 'list', resource: 'pods', times: 4, action: { status: 500 } })
    api.faults.add({ verb: 'delete', resource: 'pods', times: 4, action: { status: 500 } })
    ahead += WARNING + MINUTE
    await until(() => !isThere())
    await until(async () => (await events('notebook.stopped')).length > 0)
    expect(await events('notebook.stopped')).toHaveLength(1)
  })
})
