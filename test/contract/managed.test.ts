import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ env: { LAKE_HOOK: 'https://hooks.example.com/x' } })
})
afterAll(() => service.close())

interface Kind {
  readonly kind: string
  /** Creates an object for an owner; answers its path. */
  readonly create: (owner: string | undefined) => Promise<string>
  readonly change: () => object
  readonly isDeleted: boolean
}

let made = 0
const nextName = (): string => `object-${++made}`
const forOwner = (owner: string | undefined): string => (owner === undefined ? '' : `?managed_by=${owner}`)

async function createIn(list: string, owner: string | undefined, body: object): Promise<string> {
  const { status, body: answer } = await service.post(`${list}${forOwner(owner)}`, body)
  expect([status, answer.detail]).toEqual([201, undefined])
  return `${list}/${answer.id ?? answer.definition.id}`
}

const environments = ['development', 'qa', 'uat', 'production']
const POLICY = { tables: ['a.*'], operations: [{ operation: 'compact' }], when: { health_below: 80 } }
const ALERT = { events: ['*'], channel: { type: 'slack', url: 'env:LAKE_HOOK' } }
const KINDS: readonly Kind[] = [
  {
    kind: 'definition',
    create: (owner) => createIn('/api/pipeline-defs', owner, { name: nextName() }),
    change: () => ({ description: nextName() }),
    isDeleted: true,
  },
  {
    kind: 'policy',
    create: (owner) => createIn('/api/policies', owner, { name: nextName(), ...POLICY }),
    change: () => ({ name: nextName(), ...POLICY }),
    isDeleted: true,
  },
  {
    kind: 'alert',
    create: (owner) => createIn('/api/alerts', owner, { name: nextName(), ...ALERT }),
    change: () => ({ name: nextName(), ...ALERT }),
    isDeleted: true,
  },
  {
    kind: 'environment',
    async create(owner) {
      const path = `/api/environments/${environments.pop() ?? ''}`
      expect((await service.call('PUT', `${path}${forOwner(owner)}`, { body: { deploy: 'manual' } })).status).toBe(200)
      return path
    },
    change: () => ({ deploy: 'on_arrival' }),
    isDeleted: false,
  },
]

describe.each(KINDS)('a managed $kind', ({ create, change, isDeleted }) => {
  const put = (path: string, query: string) => service.call('PUT', `${path}${query}`, { body: change() })

  it('is changed for its owner alone, and by an adoption', async () => {
    const path = await create('team/a')
    expect((await service.get(path)).body.managed_by).toBe('team/a')
    for (const query of ['', '?managed_by=b', '?managed_by=b&adopt=false']) {
      const { status, body } = await put(path, query)
      expect([status, body.code, body.detail]).toEqual([409, 'MANAGED', expect.stringContaining('team/a')])
    }
    const { status, body } = await put(path, '?managed_by=team/a')
    expect([status, body.managed_by]).toEqual([200, 'team/a'])
    expect((await put(path, '?managed_by=b&adopt=true')).body.managed_by).toBe('b')
    expect((await put(path, '?adopt=true')).body.managed_by).toBe(null)
    expect((await put(path, '')).status).toBe(200)
    const { body: log } = await service.get('/api/audit?page_size=10')
    const owners = log.flatMap(({ details }: { details: { managed_by?: object } }) => details.managed_by ?? [])
    expect(owners.slice(0, 2)).toEqual([
      { from: 'b', to: null },
      { from: 'team/a', to: 'b' },
    ])
  })

  it('is made by hand until an owner adopts it', async () => {
    const path = await create(undefined)
    expect((await put(path, '?managed_by=c')).body.code).toBe('MANAGED')
    expect((await put(path, '?managed_by=c&adopt=true')).body.managed_by).toBe('c')
  })

  it.runIf(isDeleted)('is deleted for its owner alone', async () => {
    const path = await create('d')
    expect((await service.call('DELETE', path)).body.code).toBe('MANAGED')
    expect((await service.call('DELETE', `${path}?managed_by=e`)).body.code).toBe('MANAGED')
    expect((await service.call('DELETE', `${path}?managed_by=d`)).status).toBe(204)
    const other = await create('d')
    expect((await service.call('DELETE', `${other}?adopt=true`)).status).toBe(204)
  })
})

describe('a managed definition', () => {
  it('gets new versions for its owner alone, and from a caller who has read its newest', async () => {
    const path = await createIn('/api/pipeline-defs', 'f', { name: nextName() })
    const etag = (await service.get(path)).headers.get('etag') ?? ''
    const send = (query: string) =>
      service.post(`${path}/versions${query}`, { nodes: [], edges: [] }, { headers: { 'If-Match': etag } })
    expect((await send('')).body.code).toBe('MANAGED')
    expect((await send('?managed_by=f')).status).toBe(201)
    expect((await send('?managed_by=f')).status).toBe(412)
  })

  it('has a name of its own among those of its owner, also when two are created at the same time', async () => {
    const name = nextName()
    const create = (owner: string) => service.post(`/api/pipeline-defs?managed_by=${owner}`, { name })
    const statuses = (await Promise.all([create('g'), create('g'), create('h')])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([201, 201, 409])
    const byHand = await createIn('/api/pipeline-defs', undefined, { name })
    const { body } = await service.call('PUT', `${byHand}?managed_by=g&adopt=true`, { body: { description: 'x' } })
    expect(body.code).toBe('CONFLICT')
  })

  it('can be adopted while a version in production locks its name', async () => {
    const path = await createIn('/api/pipeline-defs', undefined, { name: nextName() })
    const { body } = await service.get(path)
    const version = `${path}/versions/${body.latest_versions.development.id}`
    await service.post(`${version}/promote`, {})
    const { body: request } = await service.post(`${version}/promote`, {})
    await service.post(`/api/approvals/${request.id}/approve`, {})
    const put = (change: object) => service.call('PUT', `${path}?managed_by=i&adopt=true`, { body: change })
    expect((await put({ description: 'other' })).body.code).toBe('DEFINITION_LOCKED')
    expect((await put({ description: body.description })).body.managed_by).toBe('i')
  })
})

it('an owner has a name without hidden characters', async () => {
  for (const owner of ['', '%20x', 'a%00', 'a%E2%80%AE', 'a'.repeat(101)]) {
    expect((await service.post(`/api/pipeline-defs?managed_by=${owner}`, { name: 'x' })).status, owner).toBe(400)
  }
})
