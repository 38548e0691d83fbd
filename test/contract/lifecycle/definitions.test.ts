import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Environment } from '../../../src/domain/environments.ts'
import { CHANGED_GRAPH, GRAPH, type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const BASE = '/api/pipeline-defs'

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`pipeline definitions on ${kind.name}`, () => {
    let service: TestService
    let users: Lifecycle
    beforeAll(async () => {
      const place = await kind.place()
      service = await startTestService({ env: place.env, onClose: place.remove })
      users = await lifecycle(service)
    })
    afterAll(() => service.close())

    it('create answers 201 with exactly the definition and its version 1 in development', async () => {
      const { engineer } = users
      const answer = await engineer.call('POST', BASE, { name: 'orders', description: 'copies orders', ...GRAPH })
      expect(answer.status).toBe(201)
      const { definition } = answer.body
      expect(answer.body).toEqual({
        definition: {
          id: expect.stringMatching(/^def-/),
          name: 'orders',
          description: 'copies orders',
          managed_by: null,
          created_by: 'ed',
          created_at: expect.stringMatching(TIME),
          updated_at: definition.created_at,
        },
        version: {
          id: expect.stringMatching(/^ver-/),
          definition_id: definition.id,
          version: 1,
          format_version: 1,
          environment: 'development',
          content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
          node_count: 2,
          edge_count: 1,
          created_by: 'ed',
          created_at: definition.created_at,
          updated_at: definition.created_at,
          ...GRAPH,
        },
      })
      expect(answer.headers.get('location')).toBe(`${BASE}/${definition.id}`)
    })

    it('nodes and edges are [] by default, config {} and the place on the canvas 0, 0', async () => {
      const bare = await users.engineer.call('POST', BASE, { name: 'bare' })
      expect(bare.body.version).toMatchObject({ nodes: [], edges: [] })
      const given = await users.engineer.call('POST', BASE, { name: 'x', nodes: [{ id: 'a', type: 'x' }] })
      expect(given.body.version.nodes).toEqual([{ id: 'a', type: 'x', config: {}, position: { x: 0, y: 0 } }])
    })

    it.each([
      ['no name', {}, 'name'],
      ['a blank name', { name: '  ' }, 'name'],
      ['an unknown field', { name: 'x', owner: 'me' }, 'owner'],
      ['a node without id', { name: 'x', nodes: [{ type: 'x' }] }, 'nodes.0.id'],
      ['a node with an empty type', { name: 'x', nodes: [{ id: 'a', type: '' }] }, 'nodes.0.type'],
      ['a node with an unknown field', { name: 'x', nodes: [{ id: 'a', type: 'x', colour: 1 }] }, 'nodes.0.colour'],
      ['a config that is not an object', { name: 'x', nodes: [{ id: 'a', type: 'x', config: [] }] }, 'nodes.0.config'],
      [
        'a position that is not a number',
        { name: 'x', nodes: [{ id: 'a', type: 'x', position: { x: '1', y: 0 } }] },
        'nodes.0.position.x',
      ],
      ['an edge without a target', { name: 'x', edges: [{ id: 'e', source: 'a' }] }, 'edges.0.target'],
    ])('create refuses %s with 400 and names the field', async (_, body, path) => {
      const answer = await users.engineer.call('POST', BASE, body)
      expect(answer.status).toBe(400)
      expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path)
    })

    const node = (id: string) => ({ id, type: 'x' })
    const edge = (id: string, source: string, target: string) => ({ id, source, target })
    it.each([
      ['a duplicate node id', { nodes: [node('a'), node('a')] }, 'nodes.1.id'],
      [
        'a duplicate edge id',
        { nodes: [node('a'), node('b')], edges: [edge('e', 'a', 'b'), edge('e', 'a', 'b')] },
        'edges.1.id',
      ],
      ['an edge to a missing node', { nodes: [node('a')], edges: [edge('e', 'a', 'b')] }, 'edges.0.target'],
      ['a cycle', { nodes: [node('a'), node('b')], edges: [edge('e', 'a', 'b'), edge('f', 'b', 'a')] }, 'edges'],
      ['an edge from a node to itself', { nodes: [node('a')], edges: [edge('e', 'a', 'a')] }, 'edges'],
      ['1,001 nodes', { nodes: Array.from({ length: 1001 }, (_, i) => node(`n${i}`)) }, 'nodes'],
    ])('a graph with %s is refused with 422, on creation, import and as a version', async (_, graph, path) => {
      const { definitionId } = await users.create()
      for (const [target, body] of [
        [BASE, { name: 'x', ...graph }],
        [`${BASE}/import`, { format_version: 1, name: 'x', ...graph }],
        [`${BASE}/${definitionId}/versions`, graph],
      ] as const) {
        const answer = await users.engineer.call('POST', target, body)
        expect(answer).toMatchObject({ status: 422, body: { code: 'INVALID_GRAPH', errors: [{ path }] } })
      }
    })

    it('1,000 nodes are allowed', async () => {
      const nodes = Array.from({ length: 1000 }, (_, i) => node(`n${i}`))
      const edges = nodes.slice(1).map(({ id }, i) => edge(`e${i}`, `n${i}`, id))
      expect((await users.engineer.call('POST', BASE, { name: 'long', nodes, edges })).status).toBe(201)
    })

    it('get answers the definition with the latest version per environment', async () => {
      const first = await users.create()
      await users.bring(first, 'production')
      const second = await users.addVersion(first.definitionId)
      await users.bring(second, 'qa')
      const third = await users.addVersion(first.definitionId)
      const fourth = await users.addVersion(first.definitionId, CHANGED_GRAPH)
      const { status, body } = await users.auditor.call('GET', first.definition)
      expect(status).toBe(200)
      const latest: Record<string, { id: string; environment: string }> = body.latest_versions
      expect(Object.fromEntries(Object.entries(latest).map(([name, version]) => [name, version.id]))).toEqual({
        production: first.versionId,
        qa: second.versionId,
        development: fourth.versionId,
      })
      for (const [name, version] of Object.entries(latest)) expect(version.environment).toBe(name)
      expect(latest['development']).toMatchObject(CHANGED_GRAPH)
      expect(third.versionId).not.toBe(fourth.versionId)
    })

    it('list answers a bare array, newest first, filtered by environment when given', async () => {
      const inQa = await users.versionIn('qa')
      const inUat = await users.versionIn('uat')
      const all = await users.auditor.call('GET', BASE)
      expect(Array.isArray(all.body)).toBe(true)
      const ids = (answer: { body: { id: string }[] }) => answer.body.map(({ id }) => id)
      expect(ids(all).slice(0, 2)).toEqual([inUat.definitionId, inQa.definitionId])
      expect(ids(await users.auditor.call('GET', `${BASE}?environment=uat`))).toContain(inUat.definitionId)
      expect(ids(await users.auditor.call('GET', `${BASE}?environment=qa`))).not.toContain(inUat.definitionId)
      await users.addVersion(inUat.definitionId)
      expect(ids(await users.auditor.call('GET', `${BASE}?environment=development`))).toContain(inUat.definitionId)
      expect((await users.auditor.call('GET', `${BASE}?environment=moon`)).status).toBe(400)
    })

    it.each(['', '&environment=development'])(
      'lists continue with a Link header, without gaps or duplicates (%s)',
      async (filter) => {
        for (let i = 0; i < 7; i++) await users.create(`page ${i}`)
        const all = (await users.auditor.call('GET', `${BASE}?${filter.slice(1)}`)).body
        const seen: string[] = []
        let path: string | undefined = `${BASE}?page_size=3${filter}`
        while (path) {
          const { body, headers } = await users.auditor.call('GET', path)
          expect(body.length).toBeLessThanOrEqual(3)
          seen.push(...body.map(({ id }: { id: string }) => id))
          path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
        }
        expect(seen).toEqual(all.map(({ id }: { id: string }) => id))
        expect((await users.auditor.call('GET', `${BASE}?page_token=bm9uc2Vuc2U`)).status).toBe(400)
      },
    )

    it('put changes name, description or both', async () => {
      const place = await users.create('old')
      const renamed = await users.engineer.call('PUT', place.definition, { name: 'new' })
      expect(renamed).toMatchObject({ status: 200, body: { id: place.definitionId, name: 'new', description: 'd' } })
      const described = await users.engineer.call('PUT', place.definition, { description: '' })
      expect(described.body).toMatchObject({ name: 'new', description: '' })
      expect(described.body.updated_at >= renamed.body.updated_at).toBe(true)
      expect((await users.auditor.call('GET', place.definition)).body).toMatchObject(described.body)
      for (const body of [{}, { name: '' }, { name: 'x', nodes: [] }, { description: null }]) {
        expect((await users.engineer.call('PUT', place.definition, body)).status).toBe(400)
      }
    })

    it.each<[Environment, boolean]>([
      ['development', true],
      ['qa', true],
      ['uat', false],
      ['production', false],
      ['retired', false],
    ])('with a version in %s update and delete are allowed: %s', async (environment, allowed) => {
      const place = await users.versionIn(environment)
      await users.addVersion(place.definitionId)
      const updated = await users.engineer.call('PUT', place.definition, { name: 'renamed' })
      const deleted = await users.engineer.call('DELETE', place.definition)
      if (allowed) {
        expect([updated.status, deleted.status]).toEqual([200, 204])
        return
      }
      for (const answer of [updated, deleted]) {
        expect(answer).toMatchObject({ status: 409, body: { code: 'DEFINITION_LOCKED' } })
        expect(answer.body.detail).toContain(`version 1 is in ${environment}`)
        expect(answer.body.errors).toEqual([{ path: 'versions.1', message: `version 1 is in ${environment}` }])
      }
      expect((await users.auditor.call('GET', place.definition)).body.name).toBe('orders')
    })

    it('delete removes versions, requests and comments, and the audit log keeps their trace', async () => {
      const place = await users.versionIn('qa')
      const request = await users.request(place)
      await users.engineer.call('POST', `/api/approvals/${request}/comments`, { comment: 'please' })
      expect((await users.engineer.call('DELETE', place.definition)).status).toBe(204)
      for (const path of [
        place.definition,
        place.version,
        `${place.definition}/versions`,
        `/api/approvals/${request}`,
        `/api/approvals/${request}/comments`,
      ]) {
        expect((await users.lead.call('GET', path)).status, path).toBe(404)
      }
      const pending = (await users.lead.call('GET', '/api/notifications/pending-approvals')).body
      expect(pending.requests.map(({ id }: { id: string }) => id)).not.toContain(request)
      const trail = (await users.lead.call('GET', `/api/audit?object=${place.definitionId}&object_type=definition`))
        .body
      expect(trail.map(({ action }: { action: string }) => action)).toEqual(['definition.delete', 'definition.create'])
      expect(trail[0]).toMatchObject({
        actor: 'ed',
        details: { removed_versions: 1, removed_pending_approvals: [request] },
      })
      expect((await users.lead.call('GET', `/api/audit?object=${request}`)).body).toHaveLength(2)
    })

    it('an unknown definition is 404', async () => {
      for (const [method, path, body] of [
        ['GET', '', undefined],
        ['PUT', '', { name: 'x' }],
        ['DELETE', '', undefined],
        ['GET', '/versions', undefined],
        ['POST', '/versions', {}],
        ['GET', '/versions/ver-none', undefined],
        ['GET', '/versions/ver-none/export', undefined],
        ['POST', '/versions/ver-none/promote', undefined],
      ] as const) {
        const answer = await users.lead.call(method, `${BASE}/def-none${path}`, body)
        expect(answer, `${method} ${path}`).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
      }
    })

    it('If-Match with another version is 412, and nothing changes; with the current version it is accepted', async () => {
      const place = await users.create('tagged')
      const tag = (await users.auditor.call('GET', place.definition)).headers.get('etag') ?? ''
      expect(tag).toMatch(/^"[^"]+"$/)
      const first = await users.engineer.call('PUT', place.definition, { name: 'one' }, { 'If-Match': tag })
      expect(first.status).toBe(200)
      for (const [method, body] of [
        ['PUT', { name: 'two' }],
        ['DELETE', undefined],
      ] as const) {
        const stale = await users.engineer.call(method, place.definition, body, { 'If-Match': tag })
        expect(stale).toMatchObject({ status: 412, body: { code: 'PRECONDITION_FAILED' } })
      }
      expect((await users.auditor.call('GET', place.definition)).body.name).toBe('one')
      const now = first.headers.get('etag') ?? ''
      expect((await users.auditor.call('GET', place.definition, undefined, { 'If-None-Match': now })).status).toBe(304)
      await users.addVersion(place.definitionId)
      expect((await users.auditor.call('GET', place.definition, undefined, { 'If-None-Match': now })).status).toBe(200)
      expect((await users.engineer.call('DELETE', place.definition, undefined, { 'If-Match': '*' })).status).toBe(204)
    })

    it('of 20 concurrent updates of one version exactly one succeeds', async () => {
      const place = await users.create('raced')
      const tag = (await users.auditor.call('GET', place.definition)).headers.get('etag') ?? ''
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          users.engineer.call('PUT', place.definition, { name: `n${i}` }, { 'If-Match': tag }),
        ),
      )
      const statuses = answers.map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
      expect(statuses.filter((status) => status === 412)).toHaveLength(19)
    })

    it('every change is one audit entry and one event, in the order in which they happened', async () => {
      const since = (await users.lead.call('GET', '/api/audit?page_size=1')).body[0].seq
      const seen = (await users.auditor.call('GET', '/api/events?limit=1000')).body.last_seq
      const place = await users.create('traced')
      await users.engineer.call('PUT', place.definition, { name: 'traced 2' })
      await users.addVersion(place.definitionId)
      await users.engineer.call('DELETE', place.definition)
      const audit = (await users.lead.call('GET', '/api/audit')).body.filter(({ seq }: { seq: number }) => seq > since)
      expect(audit.map(({ action }: { action: string }) => action).reverse()).toEqual([
        'definition.create',
        'definition.update',
        'version.create',
        'definition.delete',
      ])
      const { events } = (await users.auditor.call('GET', `/api/events?since=${seen}`)).body
      expect(events.map(({ type }: { type: string }) => type)).toEqual([
        'definition.created',
        'definition.updated',
        'version.created',
        'definition.deleted',
      ])
    })
  })
}
