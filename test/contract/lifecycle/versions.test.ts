import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphs, stored } from '../../domain/graphs.ts'
import { CHANGED_GRAPH, GRAPH, type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { runs } from '../../support/effort.ts'

/** Content that is refused: odd-names.test.ts shows that it is. NUL, half of a surrogate pair, and a name, at any level. */
const REFUSED_CONTENT = /\\u0000|\\ud[89a-f]|"__proto__":/

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`pipeline versions on ${kind.name}`, () => {
    let service: TestService
    let users: Lifecycle
    beforeAll(async () => {
      const place = await kind.place()
      service = await startTestService({ env: place.env, onClose: place.remove })
      users = await lifecycle(service)
    })
    afterAll(() => service.close())

    it('a new version is in development with the next number, regardless of other versions', async () => {
      const first = await users.versionIn('production')
      const answer = await users.engineer.call('POST', `${first.definition}/versions`, CHANGED_GRAPH)
      expect(answer.status).toBe(201)
      expect(answer.body).toMatchObject({ version: 2, environment: 'development', format_version: 1, ...CHANGED_GRAPH })
      expect(answer.headers.get('location')).toBe(`${first.definition}/versions/${answer.body.id}`)
    })

    it('list answers all versions, newest first, without content; a single one has nodes and edges', async () => {
      const first = await users.create()
      const second = await users.addVersion(first.definitionId, CHANGED_GRAPH)
      const { status, body } = await users.auditor.call('GET', `${first.definition}/versions`)
      expect(status).toBe(200)
      expect(body.map(({ id, version }: { id: string; version: number }) => [id, version])).toEqual([
        [second.versionId, 2],
        [first.versionId, 1],
      ])
      expect(body[0]).not.toHaveProperty('nodes')
      expect(body[0]).toMatchObject({ node_count: 3, edge_count: 2 })
      const single = await users.auditor.call('GET', second.version)
      expect(single.body).toEqual({ ...body[0], ...CHANGED_GRAPH })
      const page = await users.auditor.call('GET', `${first.definition}/versions?page_size=1`)
      const next = /^<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
      expect((await users.auditor.call('GET', next)).body).toEqual([body[1]])
    })

    it('a version of another definition is 404 everywhere', async () => {
      const [mine, other] = [await users.versionIn('qa'), await users.create()]
      const stray = `${other.definition}/versions/${mine.versionId}`
      for (const path of [
        stray,
        `${stray}/export`,
        `${stray}/diff/${other.versionId}`,
        `${other.version}/diff/${mine.versionId}`,
      ]) {
        expect((await users.auditor.call('GET', path)).status, path).toBe(404)
      }
      for (const move of ['promote', 'demote', 'retire']) {
        expect((await users.lead.call('POST', `${stray}/${move}`)).status, move).toBe(404)
      }
    })

    it('the content hash is the same for the same content in any order, and different after a move or change', async () => {
      const place = await users.create()
      const hash = async (graph: object): Promise<string> => {
        const { versionId } = await users.addVersion(place.definitionId, graph)
        return (await users.auditor.call('GET', `${place.definition}/versions/${versionId}`)).body.content_hash
      }
      const shuffled = {
        edges: GRAPH.edges.map(({ id, source, target }) => ({ target, source, id })),
        nodes: GRAPH.nodes
          .map(({ id, type, config, position: { x, y } }) => ({ position: { y, x }, config, type, id }))
          .reverse(),
      }
      const original = await hash(GRAPH)
      expect(await hash(shuffled)).toBe(original)
      expect(
        await hash({ ...GRAPH, nodes: GRAPH.nodes.map((node) => ({ ...node, position: { x: 1, y: 1 } })) }),
      ).not.toBe(original)
      expect(await hash({ ...GRAPH, edges: [] })).not.toBe(original)
    })

    it('50 concurrent creations get the numbers 2 to 51, each once', async () => {
      const { definition } = await users.create()
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => users.engineer.call('POST', `${definition}/versions`, {})),
      )
      const numbers = answers.map(({ body }) => body.version).sort((a, b) => a - b)
      expect(numbers).toEqual(Array.from({ length: 50 }, (_, i) => i + 2))
    })

    it('diff lists added, removed and changed nodes and edges by JSON pointers, and moves separately', async () => {
      const first = await users.create()
      const second = await users.addVersion(first.definitionId, CHANGED_GRAPH)
      const { status, body } = await users.auditor.call('GET', `${first.version}/diff/${second.versionId}`)
      expect(status).toBe(200)
      expect(body).toMatchObject({
        from: { id: first.versionId, version: 1, environment: 'development' },
        to: { id: second.versionId, version: 2 },
        identical: false,
        nodes: {
          added: [CHANGED_GRAPH.nodes[2]],
          removed: [],
          changed: [{ id: 'read', changes: [{ op: 'replace', path: '/config/options/limit', from: 10, to: 20 }] }],
        },
        edges: { added: [CHANGED_GRAPH.edges[1]], removed: [], changed: [] },
        moves: [{ id: 'write', from: { x: 200, y: 0 }, to: { x: 300, y: 50 } }],
      })
      const back = (await users.auditor.call('GET', `${second.version}/diff/${first.versionId}`)).body
      expect(back.nodes.removed).toEqual(body.nodes.added)
      const none = (await users.auditor.call('GET', `${first.version}/diff/${first.versionId}`)).body
      const nothing = { added: [], removed: [], changed: [] }
      expect(none).toMatchObject({ identical: true, nodes: nothing, edges: nothing, moves: [] })
    })

    it('export answers exactly the document, which imports as it is into a new definition with version 1', async () => {
      const first = await users.create('exported')
      const second = await users.addVersion(first.definitionId, CHANGED_GRAPH)
      await users.bring(second, 'qa')
      const { status, body } = await users.auditor.call('GET', `${second.version}/export`)
      expect(status).toBe(200)
      expect(body).toEqual({
        format_version: 1,
        name: 'exported',
        description: 'd',
        version: 2,
        ...CHANGED_GRAPH,
        exported_at: expect.stringMatching(/Z$/),
      })
      const imported = await users.engineer.call('POST', '/api/pipeline-defs/import', body)
      expect(imported.status).toBe(201)
      expect(Object.keys(imported.body).sort()).toEqual(['definition', 'version'])
      expect(imported.body.definition).toMatchObject({ name: 'exported', description: 'd', created_by: 'ed' })
      expect(imported.body.definition.id).not.toBe(first.definitionId)
      expect(imported.body.version).toMatchObject({ version: 1, environment: 'development', ...CHANGED_GRAPH })
    })

    it('the largest possible version can be exported and imported unchanged', async () => {
      // Numbers that are written longer than they were sent.
      const values = Array.from({ length: 9000 }, () => 1e20)
      const nodes = Array.from({ length: 10 }, (_, i) => ({ id: `n${i}`, type: 'x', config: { values } }))
      const text = JSON.stringify({ name: 'large', nodes }).replaceAll('100000000000000000000', '1e20')
      const made = await service.call('POST', '/api/pipeline-defs', { text })
      expect(made.status).toBe(201)
      const { definition, version } = made.body
      const exported = await service.get(`/api/pipeline-defs/${definition.id}/versions/${version.id}/export`)
      const imported = await service.post('/api/pipeline-defs/import', exported.body)
      expect(imported.status).toBe(201)
      expect(imported.body.version.content_hash).toBe(version.content_hash)
      const tooLong = await service.post('/api/pipeline-defs/import', { name: 'x'.repeat(10 * 2 ** 20) })
      expect(tooLong.status).toBe(413)
    })

    it('any content is returned unchanged, also after export and import', { timeout: 300_000 }, async () => {
      const property = fc.asyncProperty(graphs, async (graph) => {
        const text = JSON.stringify(graph)
        fc.pre(!REFUSED_CONTENT.test(text))
        const { definitionId, version } = await users.create('any', graph)
        const { body } = await users.auditor.call('GET', version)
        expect({ nodes: body.nodes, edges: body.edges }).toEqual(stored(graph))
        const exported = await users.auditor.call('GET', `${version}/export`)
        const imported = await users.engineer.call('POST', '/api/pipeline-defs/import', exported.body)
        expect(imported.body.version?.content_hash, JSON.stringify(imported.body)).toBe(body.content_hash)
        const { body: diff } = await users.auditor.call('GET', `${version}/diff/${body.id}`)
        expect(diff.identical).toBe(true)
        await users.engineer.call('DELETE', `/api/pipeline-defs/${definitionId}`)
      })
      await fc.assert(property, { numRuns: runs(100) })
    })

    it('import refuses a format_version higher than its own with 422, regardless of the rest of the document', async () => {
      for (const document of [
        { format_version: 2, name: 'x' },
        { format_version: 99, steps: [] },
      ]) {
        const answer = await users.engineer.call('POST', '/api/pipeline-defs/import', document)
        expect(answer).toMatchObject({ status: 422, body: { code: 'UNSUPPORTED_FORMAT_VERSION' } })
      }
    })

    it.each([0, -1, 1.5, '1', null, undefined])('import refuses format_version %s with 400', async (format_version) => {
      const document = { format_version, name: 'x', nodes: [], edges: [] }
      expect((await users.engineer.call('POST', '/api/pipeline-defs/import', document)).status).toBe(400)
    })

    it('import refuses unknown fields, except version and exported_at', async () => {
      const document = { format_version: 1, name: 'x', id: 'def-1' }
      const answer = await users.engineer.call('POST', '/api/pipeline-defs/import', document)
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'id', message: 'is not a known field' }] } })
    })
  })
}
