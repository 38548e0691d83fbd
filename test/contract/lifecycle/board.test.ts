import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`the board of definitions on ${kind.name}`, () => {
    let service: TestService
    let users: Lifecycle
    beforeAll(async () => {
      const place = await kind.place()
      service = await startTestService({ env: place.env, onClose: place.remove })
      users = await lifecycle(service)
    })
    afterAll(() => service.close())

    const boardOf = async (id: string) => {
      const { status, body } = await users.auditor.call('GET', `/api/pipeline-board?definition_id=${id}`)
      expect(status, JSON.stringify(body)).toBe(200)
      expect(body.definitions).toHaveLength(1)
      return body.definitions[0]
    }

    it('has the newest version of each environment, their number, and no content', async () => {
      const first = await users.versionIn('qa')
      const second = await users.addVersion(first.definitionId)
      await users.bring(second, 'qa')
      const third = await users.addVersion(first.definitionId)
      const row = await boardOf(first.definitionId)
      expect(Object.keys(row.environments).sort()).toEqual(['development', 'qa'])
      expect(row.environments.qa).toMatchObject({ count: 2, newest: { id: second.versionId, version: 2 } })
      expect(row.environments.development).toMatchObject({ count: 1, newest: { id: third.versionId, version: 3 } })
      expect(row.environments.qa.newest).not.toHaveProperty('nodes')
      expect(row.pending).toEqual([])
    })

    it('shows every Auditor which move waits for a decision, until it is decided', async () => {
      const place = await users.versionIn('qa')
      const request = await users.request(place)
      expect((await boardOf(place.definitionId)).pending).toEqual([
        {
          id: request,
          version_id: place.versionId,
          version: 1,
          from_environment: 'qa',
          to_environment: 'uat',
          status: 'pending',
          requested_by: 'ed',
          requested_at: expect.any(String),
        },
      ])
      await users.lead.call('POST', `/api/approvals/${request}/reject`, { reason: 'no' })
      expect((await boardOf(place.definitionId)).pending).toEqual([])
    })

    it('is paged, newest first, each definition once', async () => {
      const made = []
      for (let i = 0; i < 3; i++) made.push((await users.create(`paged ${i}`)).definitionId)
      const seen: string[] = []
      let token: string | null = ''
      do {
        const more: string = token === '' ? '' : `&page_token=${encodeURIComponent(token)}`
        const { status, body } = await users.auditor.call('GET', `/api/pipeline-board?page_size=2${more}`)
        expect(status).toBe(200)
        seen.push(...body.definitions.map(({ id }: { id: string }) => id))
        token = body.next_page_token
      } while (token !== null)
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen.slice(0, 3)).toEqual(made.toReversed())
      expect(seen).toEqual([...seen].sort().reverse())
    })

    it('refuses an unknown definition and a token of another list', async () => {
      expect((await users.auditor.call('GET', '/api/pipeline-board?definition_id=def-none')).status).toBe(404)
      expect((await users.auditor.call('GET', '/api/pipeline-board?page_token=bm9uZQ')).status).toBe(400)
    })
  })
}
