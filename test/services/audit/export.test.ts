import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportAudit } from '../../../src/services/audit/export-audit.ts'
import { type ChainHead, chainRow } from '../../../src/storage/audit-chain.ts'
import type { AuditEventsTable } from '../../../src/storage/schema.ts'
import { createAuditStore } from '../../../src/storage/stores/audit-store.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { stateOf } from '../../support/state-of.ts'
import { LONG } from '../../support/effort.ts'

const ENTRIES = 100_000
const yes = async (): Promise<boolean> => true

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`the export of the audit log on ${kind.name}`, () => {
    let service: TestService
    let env: Readonly<Record<string, string>>
    beforeEach(async () => {
      const place = await kind.place()
      env = place.env
      service = await startTestService({ env, onClose: place.remove })
    })
    afterEach(() => service.close())

    const exported = async (query = ''): Promise<Record<string, unknown>[]> => {
      const { status, headers, body } = await service.get(`/api/audit/export${query}`)
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/x-ndjson')
      return linesOf(body)
    }
    const makeToken = (user: string) => service.post('/api/auth/tokens', { user, role: 'Auditor', name: 'Ø "x" 😀' })

    it('can be checked by its lines alone, and shows a line that was changed, removed or cut off', async () => {
      for (const user of ['ada', 'bo', 'cy']) await makeToken(user)
      const lines = await exported()
      expect(problemOf(lines)).toBeUndefined()
      expect(lines.at(-1)).toMatchObject({
        end: true,
        entries: 4,
        last_seq: 4,
        head: { seq: 4, hash: lines[3]?.['hash'] },
      })
      expect(problemOf(lines.with(1, { ...lines[1], actor: 'eve' }))).toBe('entry 2 was changed')
      expect(problemOf(lines.toSpliced(1, 1))).toBe('entry 3 does not follow')
      expect(problemOf(lines.slice(0, -1))).toBe('the end is missing')
    })

    it('continues after a number, and stays within times', async () => {
      await makeToken('ada')
      const first = await exported()
      await makeToken('bo')
      const rest = await exported(`?after_seq=${String(first.at(-1)?.['last_seq'])}`)
      expect(rest.slice(0, -1).map(({ seq }) => seq)).toEqual([3])
      expect(rest[0]?.['prev_hash']).toBe(first[1]?.['hash'])
      const [, second] = first
      const at = String(second?.['at'])
      expect((await exported(`?from=${at}`)).slice(0, -1)).toContainEqual(second)
      expect((await exported(`?to=${at}`)).slice(0, -1)).not.toContainEqual(second)
      expect(await exported('?after_seq=3')).toMatchObject([{ end: true, entries: 0, last_seq: 3, head: { seq: 3 } }])
    })

    it(
      'streams 100,000 entries whose chain is whole, and reads no further than its client',
      { ...LONG, timeout: 180_000 },
      async () => {
        const db = stateOf(service.folder, env)
        await grow(db, ENTRIES)
        const lines = await exported()
        expect(lines).toHaveLength(ENTRIES + 1)
        expect(problemOf(lines)).toBeUndefined()

        const store = createAuditStore(db, new Uint8Array(32))
        let reads = 0
        const counting: typeof store = {
          ...store,
          after: (...given) => {
            reads += 1
            return store.after(...given)
          },
        }
        const reader = exportAudit(counting, {}, yes).getReader()
        await reader.read()
        await reader.read()
        expect(reads).toBe(2)
        await reader.cancel()
        expect(reads).toBe(2)
        await db.destroy()
      },
    )

    it('ends when the caller loses access', async () => {
      const db = stateOf(service.folder, env)
      await grow(db, 3000)
      let allowed = true
      const reader = exportAudit(createAuditStore(db, new Uint8Array(32)), {}, async () => allowed).getReader()
      expect((await reader.read()).done).toBe(false)
      allowed = false
      await expect(reader.read()).rejects.toThrow('may no longer read')
      await db.destroy()
    })
  })
}

/** Adds entries to the chain, up to so many. */
async function grow(db: ReturnType<typeof stateOf>, total: number): Promise<void> {
  const stored = await db.selectFrom('audit_head').selectAll().executeTakeFirstOrThrow()
  let head: ChainHead = stored
  while (head.seq < total) {
    const rows: AuditEventsTable[] = []
    while (rows.length < 500 && head.seq < total) {
      const row = chainRow(head, {
        at: '2026-11-23T10:00:00.000Z',
        actor: `user-${head.seq}`,
        role: 'Auditor',
        channel: 'api',
        action: 'test.grow',
        object_type: 'test',
        object_id: null,
        outcome: 'done',
        request_id: null,
        details_json: JSON.stringify({ number: head.seq, text: 'ü "quoted" \u2028' }),
      })
      rows.push(row)
      head = row
    }
    await db.insertInto('audit_events').values(rows).execute()
  }
  await db.updateTable('audit_head').set({ seq: head.seq, hash: head.hash }).where('id', '=', 1).execute()
}

function linesOf(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** What a reader of docs/api.md would check; uses nothing of the service. */
function problemOf(lines: readonly Record<string, unknown>[]): string | undefined {
  let previous: unknown = '0'.repeat(64)
  for (const line of lines) {
    if (line['end'] === true) return undefined
    const { seq, prev_hash, at, actor, role, channel, action, object_type, object_id, outcome, request_id } = line
    if (prev_hash !== previous) return `entry ${String(seq)} does not follow`
    const columns = [seq, prev_hash, at, actor, role, channel, action, object_type, object_id, outcome, request_id]
    const canonical = JSON.stringify([...columns, line['details_json']])
    if (createHash('sha256').update(canonical).digest('hex') !== line['hash']) return `entry ${String(seq)} was changed`
    previous = line['hash']
  }
  return 'the end is missing'
}
