import { describe, expect, it } from 'vitest'

import type { Catalog } from '../../../src/catalog/catalog.ts'
import { type CommittedChange, commitTable } from '../../../src/catalog/commit-table.ts'
import type { IcebergError } from '../../../src/iceberg/errors.ts'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { postgresServer } from '../../storage/open.ts'
import type { Verdict } from '../../support/network/relay.ts'
import { type PostgresLab, postgresLabs, settled } from './postgres.ts'
import { commitOnce, createEvents, EVENTS, filesBelow, SCHEMA, setProperty } from '../support-files.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'
import type { StagedChange } from '../../../src/iceberg/update/table-update.ts'
import { sleep, until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const newLab = postgresLabs()

const isSwap = (piece: Buffer): boolean => piece.includes('update "iceberg_tables"')
const isInsert = (piece: Buffer): boolean => piece.includes('insert into "iceberg_tables"')

/** One attempt to commit a property, with a file that it writes. */
async function attempt(
  lab: PostgresLab,
  catalog: Catalog,
  key: string,
): Promise<CommittedChange<StagedChange> | IcebergError> {
  const written = `${lab.folder}/${key}.avro`
  const stage = async (table: Table) => {
    await lab.io.create(written, new Uint8Array([1]))
    return { ...(await setProperty(key, 'yes')(table)), writtenFiles: [written] }
  }
  return commitTable(catalog, EVENTS, stage, { retries: { count: 0 } }).catch((error: unknown) => {
    if (isIcebergError(error)) return error
    throw error
  })
}

const locationOf = (staged: StagedCommit): string => (staged.kind === 'file' ? staged.location : '')

const codeOf = (outcome: CommittedChange<StagedChange> | IcebergError): string =>
  'code' in outcome ? outcome.code : 'committed'

const metadataFiles = async ({ io, folder }: PostgresLab): Promise<string[]> =>
  (await filesBelow(io, `${folder}/warehouse`)).filter((file) => file.endsWith('.metadata.json'))

/** The answers agree with the table, and every file that may still be needed exists. */
async function expectHonest(
  lab: PostgresLab,
  key: string,
  outcome: CommittedChange<StagedChange> | IcebergError,
  before: readonly string[] = [],
): Promise<void> {
  await settled(lab)
  const code = codeOf(outcome)
  const { metadata, metadataLocation } = await lab.open().loadTable(EVENTS)
  const isThere = metadata.properties[key] === 'yes'
  const isWritten = (await lab.io.stat(`${lab.folder}/${key}.avro`)) !== undefined
  if (code === 'committed') expect({ isThere, isWritten }).toEqual({ isThere: true, isWritten: true })
  else if (code === 'COMMIT_STATE_UNKNOWN') expect(isWritten).toBe(true)
  else {
    expect(['COMMIT_CONFLICT', 'IO_FAILED']).toContain(code)
    expect({ isThere, isWritten }).toEqual({ isThere: false, isWritten: false })
  }
  const known = [...metadata.metadataLog.map(({ metadataFile }) => metadataFile), metadataLocation]
  const files = await metadataFiles(lab)
  expect(files).toEqual(expect.arrayContaining(known))
  const extra = files.filter((file) => !known.includes(file) && !before.includes(file))
  expect(extra.length).toBeLessThanOrEqual(code === 'COMMIT_STATE_UNKNOWN' && !isThere ? 1 : 0)
}

describe.skipIf(postgresServer === undefined)('commits to a catalog in PostgreSQL', LONG, () => {
  it.each(['cut', 'cut after'] as const)(
    'are reported correctly when the connection is %s at any step',
    async (fault) => {
      const lab = await newLab()
      await createEvents(lab.open())
      const seen = new Set<string>()
      for (let step = 0, isOver = false; !isOver; step++) {
        const relay = await lab.relay()
        const catalog = lab.open({ relay, maxConnections: 1 })
        let left = step
        let hits = 0
        relay.judge = () => {
          if (left-- !== 0) return 'pass'
          hits += 1
          return fault
        }
        const before = await metadataFiles(lab)
        const outcome = await attempt(lab, catalog, `step${step}`)
        isOver = hits === 0
        await expectHonest(lab, `step${step}`, outcome, before)
        seen.add(codeOf(outcome))
        await relay.close()
      }
      const unknown = fault === 'cut' ? ['COMMIT_STATE_UNKNOWN'] : []
      expect([...seen]).toEqual(expect.arrayContaining(['committed', 'IO_FAILED', ...unknown]))
    },
  )

  it('have succeeded when the answer was lost', async () => {
    const lab = await newLab()
    const relay = await lab.relay()
    const catalog = lab.open({ relay })
    await createEvents(catalog)
    let swaps = 0
    relay.judge = (piece) => (isSwap(piece) && (swaps += 1) === 1 ? 'cut after' : 'pass')
    const outcome = await attempt(lab, catalog, 'lost')
    expect({ code: codeOf(outcome), swaps }).toEqual({ code: 'committed', swaps: 1 })
    await expectHonest(lab, 'lost', outcome)
  })

  it.each(['cut', 'stall'] as const)(
    'stay unknown when it is unclear whether the update arrived (%s)',
    async (fault) => {
      const lab = await newLab()
      const relay = await lab.relay()
      const catalog = lab.open({ relay, answerTimeoutMs: 500 })
      await createEvents(catalog)
      relay.judge = (piece) => (isSwap(piece) ? fault : 'pass')
      const outcome = await attempt(lab, catalog, 'gone')
      expect(codeOf(outcome)).toBe('COMMIT_STATE_UNKNOWN')
      await expectHonest(lab, 'gone', outcome)
      expect(await metadataFiles(lab)).toHaveLength(2)
    },
  )

  it.each(['before', 'while'] as const)(
    'that arrive after their client has disconnected are what the recovery says, when it looks %s they arrive',
    async (when) => {
      const lab = await newLab()
      const relay = await lab.relay()
      const catalog = lab.open({ relay })
      await createEvents(catalog)
      relay.judge = (piece) => (isSwap(piece) ? 'late' : 'pass')
      let staged = ''
      const commit = commitTable(catalog, EVENTS, setProperty('late', 'yes'), {
        onStaged: async (commit) => {
          staged = locationOf(commit)
        },
      })
      await expect(commit).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
      if (when === 'while') relay.deliver()
      const { outcome, deletedFiles } = await reconcileOperation({
        catalog: lab.open(),
        identifier: EVENTS,
        operationId: 'op',
        staged: { kind: 'file', location: staged } as const,
      })
      if (when === 'before') expect(outcome).toBe('not-committed')
      expect(['committed', 'not-committed']).toContain(outcome)
      relay.deliver()
      await sleep(100)
      await settled(lab)
      const { metadata, metadataLocation } = await lab.open().loadTable(EVENTS)
      const isCommitted = outcome === 'committed'
      expect(metadata.properties['late']).toBe(isCommitted ? 'yes' : undefined)
      expect(deletedFiles).toEqual(isCommitted ? [] : [staged])
      expect(metadataLocation === staged).toBe(isCommitted)
    },
  )

  it('that arrive after the table has changed do nothing, and are cleaned up before', async () => {
    const lab = await newLab()
    const relay = await lab.relay()
    const catalog = lab.open({ relay })
    await createEvents(catalog)
    relay.judge = (piece) => (isSwap(piece) ? 'late' : 'pass')
    let staged = ''
    const onStaged = async (commit: StagedCommit): Promise<void> => {
      staged = locationOf(commit)
    }
    const commit = commitTable(catalog, EVENTS, setProperty('late', 'yes'), { onStaged })
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    const direct = lab.open()
    const { table } = await commitTable(direct, EVENTS, setProperty('next', 'yes'))
    const input = {
      catalog: direct,
      identifier: EVENTS,
      operationId: 'op',
      staged: { kind: 'file', location: staged } as const,
    }
    expect(await reconcileOperation(input)).toMatchObject({ outcome: 'not-committed', deletedFiles: [staged] })
    relay.deliver()
    await sleep(100)
    await settled(lab)
    expect((await direct.loadTable(EVENTS)).metadataLocation).toBe(table.metadataLocation)
  })

  it('of several tables lock no row for long when their client vanishes before the end', async () => {
    const lab = await newLab()
    const relay = await lab.relay()
    const direct = lab.open()
    await createEvents(direct)
    const other = { ...EVENTS, name: 'other' }
    await direct.createTable(other, { schema: SCHEMA })
    relay.judge = (piece, from) => (from === 'client' && piece.includes('commit\0') ? 'stall' : 'pass')
    const vanishing = lab.open({ relay, answerTimeoutMs: 1000 })
    const updates = [{ action: 'set-properties', updates: { vanished: 'yes' } }] as const
    const commits = [EVENTS, other].map((identifier) => ({ identifier, request: { requirements: [], updates } }))
    expect((await vanishing.commitAll?.(commits))?.kind).toBe('unknown')
    const { table } = await commitTable(direct, EVENTS, setProperty('next', 'yes')) // waits until the server gives up
    expect(table.metadata.properties).toMatchObject({ next: 'yes' })
    expect(table.metadata.properties).not.toHaveProperty('vanished')
  })

  it('certainly have failed when no connection was available', async () => {
    const lab = await newLab()
    const relay = await lab.relay()
    const catalog = lab.open({ relay })
    await createEvents(catalog)
    const before = await filesBelow(lab.io, lab.folder)
    const request = {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { a: '1' } }] as const,
      onStaged: async () => {
        await relay.close()
        await until(() => relay.open === 0)
        await sleep(20)
      },
    }
    await expect(commitOnce(catalog, EVENTS, request)).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect(await filesBelow(lab.io, lab.folder)).toEqual(before)
    await relay.listen()
    relay.judge = () => 'pass'
    expect(codeOf(await attempt(lab, catalog, 'again'))).toBe('committed')
  })

  it.each([
    ['40001', 'COMMIT_CONFLICT'],
    ['40P01', 'COMMIT_CONFLICT'],
    ['55P03', 'COMMIT_CONFLICT'],
    ['53100', 'IO_FAILED'],
    ['23514', 'IO_FAILED'],
    ['42501', 'IO_FAILED'],
    ['40003', 'COMMIT_STATE_UNKNOWN'],
    ['57P01', 'COMMIT_STATE_UNKNOWN'],
    ['08006', 'COMMIT_STATE_UNKNOWN'],
    ['XX000', 'COMMIT_STATE_UNKNOWN'],
  ])('that the server refuses with %s are %s', async (state, code) => {
    const lab = await newLab()
    const catalog = lab.open()
    await createEvents(catalog)
    await failWith(lab, 'update', state)
    const outcome = await attempt(lab, catalog, 'refused')
    expect(codeOf(outcome)).toBe(code)
    await expectHonest(lab, 'refused', outcome)
    await lab.run('drop trigger fails on iceberg_tables')
    expect(codeOf(await attempt(lab, catalog, 'next'))).toBe('committed')
  })

  it('that fail with serialization errors are retried', async () => {
    const lab = await newLab()
    await createEvents(lab.open())
    const name = new URL(lab.uri).pathname.slice(1)
    await lab.run(`alter database ${name} set default_transaction_isolation = 'serializable'`)
    const instances = Array.from({ length: 4 }, () => lab.open())
    const retries = { count: 200, minWaitMs: 1, maxWaitMs: 20 }
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        commitTable(instances[i % 4] ?? lab.open(), EVENTS, setProperty(`p${i}`, 'yes'), { retries }),
      ),
    )
    const { metadata } = await lab.open().loadTable(EVENTS)
    expect(Object.keys(metadata.properties)).toEqual(
      expect.arrayContaining(Array.from({ length: 20 }, (_, i) => `p${i}`)),
    )
    expect(metadata.metadataLog).toHaveLength(20)
  })

  it('that wait too long for a row are conflicts, and are not applied later', async () => {
    const lab = await newLab()
    const catalog = lab.open({ answerTimeoutMs: 600 })
    await createEvents(catalog)
    const outcome = await lab.db.transaction().execute(async (tx) => {
      await tx.selectFrom('iceberg_tables').selectAll().forUpdate().execute()
      return attempt(lab, catalog, 'waited')
    })
    expect(codeOf(outcome)).toBe('COMMIT_CONFLICT')
    await expectHonest(lab, 'waited', outcome)
  })
})

describe.skipIf(postgresServer === undefined)('new tables of a catalog in PostgreSQL', LONG, () => {
  it.each<[Verdict, string]>([
    ['cut after', 'created'],
    ['cut', 'COMMIT_STATE_UNKNOWN'],
  ])('are reported correctly when the connection is lost (%s)', async (fault, expected) => {
    const lab = await newLab()
    const relay = await lab.relay()
    const catalog = lab.open({ relay })
    relay.judge = (piece) => (isInsert(piece) ? fault : 'pass')
    const outcome = await createEvents(catalog).then(
      () => 'created',
      (error: IcebergError) => error.code,
    )
    // The check for the row may run before the server has created it.
    expect([expected, 'COMMIT_STATE_UNKNOWN']).toContain(outcome)
    expect(await metadataFiles(lab)).toHaveLength(1)
  })

  it.each([
    ['40P01', 'IO_FAILED', 0],
    ['53100', 'IO_FAILED', 0],
    ['XX000', 'COMMIT_STATE_UNKNOWN', 1],
  ])('that the server refuses with %s are %s', async (state, code, files) => {
    const lab = await newLab()
    const catalog = lab.open()
    await catalog.createNamespace(EVENTS.namespace)
    await failWith(lab, 'insert', state)
    await expect(createEvents(catalog)).rejects.toMatchObject({ code })
    expect(await metadataFiles(lab)).toHaveLength(files)
  })
})

/** Makes each such statement fail with a SQLSTATE. */
async function failWith({ run }: PostgresLab, statement: string, state: string): Promise<void> {
  await run(`create function fails() returns trigger language plpgsql as
    'begin raise exception ''no'' using errcode = ''${state}''; end'`)
  await run(`create trigger fails before ${statement} on iceberg_tables execute function fails()`)
}
