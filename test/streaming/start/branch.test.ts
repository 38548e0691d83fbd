import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { loadEntries, loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import { currentSchema, currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import type { PipelineSpec } from '../../../src/streaming/pipeline-spec.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { PipelineSession, type StepResult } from '../../../src/streaming/run/pipeline-session.ts'
import { listProgress } from '../../../src/streaming/sink/progress.ts'
import { addedFiles } from '../../../src/streaming/source/plan.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { throwAfterCommit } from '../../catalog/throw-after-commit.ts'
import { Faults } from '../../maintenance/faults.ts'
import { everyNth } from '../../support/effort.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

/** A run that is not whole fails only each n-th call. */
const STEP = 11
const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const
const signal = new AbortController().signal
const FILE_CALLS = ['read', 'create', 'write', 'stat', 'delete']
const CATALOG_CALLS = ['loadTable', 'locateTable', 'commit']
const BRANCH = { name: 'fill', publish: 'when_caught_up' } as const

/** Opens a session that writes into the branch `fill` of its sink. */
function open(name: string, more: Partial<PipelineSpec> = {}, catalog = lab.catalog, faults = new Faults()) {
  const deps = {
    catalog,
    tables: createTableWatch(catalog),
    engine: lab.engine,
    checkpointIo: faults.wrap(new LocalFileIO(), FILE_CALLS),
    now: () => new Date(),
    checkLease: () => undefined,
  }
  return PipelineSession.open(deps, {
    pipelineId: `pipe-${name}`,
    runId: 'run',
    queryId: `query-${name}`,
    sources: [parseIdentifier(`s.${name}`)],
    sink: parseIdentifier(`s.${name}_sink`),
    checkpointLocation: `file://${lab.service.folder}/cp/${name}`,
    triggerMs: 100,
    limits: { maxFiles: 1, maxBytes: 2 ** 30 },
    onDelete: 'fail',
    branch: BRANCH,
    query: copyQuery(),
    ...more,
  })
}

async function drain(session: PipelineSession): Promise<readonly StepResult[]> {
  const steps: StepResult[] = []
  for (;;) {
    const step = await session.step(signal)
    if (step.kind === 'idle') return steps
    steps.push(step)
  }
}

/** A source with 30 rows in three files, and a sink with the rows 100 to 110. */
async function tables(name: string, sinkRows = 10): Promise<void> {
  for (const table of [`s.${name}`, `s.${name}_sink`]) await lab.createTable(table, COLUMNS)
  for (let at = 0; at < 3; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
  if (sinkRows > 0) await lab.append(`s.${name}_sink`, numbered(100, 100 + sinkRows))
}

/** The ids in `main`, or in a branch. */
async function idsIn(name: string, branch?: string): Promise<number[]> {
  const table = await lab.load(`s.${name}_sink`)
  const { io, metadata } = table
  const snapshotId = branch === undefined ? metadata.currentSnapshotId : metadata.refs[branch]?.snapshotId
  if (snapshotId === undefined) return []
  const ids: number[] = []
  const inputs = await planFiles(table, { snapshotId })
  for await (const row of lab.engine.readRows({ io, metadata, schema: currentSchema(metadata), inputs })) {
    ids.push(Number(row['id']))
  }
  return ids.sort((a, b) => a - b)
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

async function refsOf(name: string): Promise<string[]> {
  return Object.keys((await lab.load(`s.${name}_sink`)).metadata.refs).sort()
}

describe('a pipeline that fills a branch', { timeout: 180_000 }, () => {
  it('leaves main as it is until it has caught up, then moves main forward and goes on there', async () => {
    await tables('forward')
    const session = await open('forward')
    const first = await session.step(signal)
    expect(first).toMatchObject({ kind: 'batch', hasMore: true, progress: { sink: { branch: 'fill' } } })
    expect(await idsIn('forward')).toEqual(range(100, 110))
    expect(await idsIn('forward', 'fill')).toHaveLength(20)
    expect(listProgress((await lab.load('s.forward_sink')).metadata)).toEqual([])
    const last = (await drain(session)).at(-1)
    expect(last?.kind === 'batch' && last.progress.sink).not.toHaveProperty('branch')
    expect(await idsIn('forward')).toEqual([...range(0, 30), ...range(100, 110)])
    expect(await refsOf('forward')).toEqual(['main'])
    const { metadata } = await lab.load('s.forward_sink')
    expect(metadata.snapshots).toHaveLength(4)
    expect(listProgress(metadata)).toMatchObject([{ progress: { batchId: 2 } }])
    await lab.append('s.forward', numbered(30, 40))
    await drain(session)
    expect(await idsIn('forward')).toEqual([...range(0, 40), ...range(100, 110)])
    await lab.append('s.forward', numbered(40, 50))
    await drain(await open('forward'))
    expect(await idsIn('forward')).toEqual([...range(0, 50), ...range(100, 110)])
    expect(await refsOf('forward')).toEqual(['main'])
  })

  it('appends its files to main when main has moved, once', async () => {
    await tables('moved')
    const session = await open('moved')
    await session.step(signal)
    await lab.append('s.moved_sink', numbered(110, 120))
    await deleteRow(lab, 's.moved_sink', 100)
    await drain(session)
    expect(await idsIn('moved')).toEqual([...range(0, 30), ...range(101, 120)])
    expect(await refsOf('moved')).toEqual(['main'])
    const sink = await lab.load('s.moved_sink')
    for (const manifest of await loadManifests(sink, required(currentSnapshot(sink.metadata)))) {
      for (const { dataFile } of manifest.content === 'data' ? await loadEntries(sink, manifest) : []) {
        expect(dataFile.lowerBounds?.size, dataFile.filePath).toBe(2)
      }
    }
    await lab.append('s.moved', numbered(30, 40))
    await drain(await open('moved'))
    expect(await idsIn('moved')).toEqual([...range(0, 40), ...range(101, 120)])
  })

  it('does not bring back rows of main that were rolled back meanwhile', async () => {
    await tables('undone')
    const before = (await lab.load('s.undone_sink')).metadata.currentSnapshotId ?? 0n
    await lab.append('s.undone_sink', numbered(110, 120))
    const session = await open('undone')
    await session.step(signal)
    const rolled = { table: 's.undone_sink', snapshot_id: String(before) }
    expect((await lab.service.post('/api/rollback', rolled)).status).toBe(200)
    await drain(session)
    expect(await idsIn('undone')).toEqual([...range(0, 30), ...range(100, 110)])
  })

  it('fills an empty sink, and is published when it is started again so', async () => {
    await tables('audited', 0)
    const manual = { branch: { name: 'fill', publish: 'manual' } } as const
    await drain(await open('audited', manual))
    expect([await idsIn('audited'), await refsOf('audited')]).toEqual([[], ['fill']])
    await lab.append('s.audited', numbered(30, 40))
    await drain(await open('audited', manual))
    expect(await idsIn('audited', 'fill')).toEqual(range(0, 40))
    expect(await (await open('audited')).step(signal)).toEqual({ kind: 'idle', isPublished: true })
    expect([await idsIn('audited'), await refsOf('audited')]).toEqual([range(0, 40), ['main']])
  })

  it('stops when its branch is gone, was changed, or has a name that the table has already', async () => {
    const point = async (name: string, updates: readonly object[]): Promise<void> => {
      await commitTable(lab.catalog(), parseIdentifier(`s.${name}_sink`), async () => ({
        updates: updates as never,
        requirements: [],
        writtenFiles: [],
      }))
    }
    await tables('gone')
    await (await open('gone')).step(signal)
    await point('gone', [{ action: 'remove-snapshot-ref', 'ref-name': 'fill' }])
    await expect(drain(await open('gone'))).rejects.toMatchObject({ code: 'BRANCH_CHANGED' })
    await tables('turned')
    await (await open('turned')).step(signal)
    const { currentSnapshotId } = (await lab.load('s.turned_sink')).metadata
    const back = { 'ref-name': 'fill', type: 'branch', 'snapshot-id': currentSnapshotId }
    await point('turned', [{ action: 'set-snapshot-ref', ...back }])
    await expect(drain(await open('turned'))).rejects.toMatchObject({ code: 'BRANCH_CHANGED' })
    await tables('taken')
    await point('taken', [
      {
        ...back,
        action: 'set-snapshot-ref',
        'snapshot-id': (await lab.load('s.taken_sink')).metadata.currentSnapshotId,
      },
    ])
    await expect(drain(await open('taken'))).rejects.toMatchObject({ code: 'BRANCH_CHANGED' })
    for (const name of ['gone', 'turned', 'taken']) expect(await idsIn(name)).toEqual(range(100, 110))
  })

  it('requires for each commit that main has not moved, so that a fence of main stops it', async () => {
    await tables('fenced')
    const required: unknown[] = []
    const real = lab.catalog()
    const commit: typeof real.commit = (identifier, request) => {
      required.push(request.requirements.filter(({ type }) => type === 'assert-ref-snapshot-id'))
      return real.commit(identifier, request)
    }
    const catalog = new Proxy(real, {
      get(target, key: keyof typeof real) {
        const value = key === 'commit' ? commit : target[key]
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const main = (await lab.load('s.fenced_sink')).metadata.currentSnapshotId
    const session = await open('fenced', {}, () => catalog)
    await session.step(signal)
    const fill = (await lab.load('s.fenced_sink')).metadata.refs['fill']?.snapshotId
    await session.step(signal)
    const refOf = (ref: string, id: bigint | null | undefined) => ({
      type: 'assert-ref-snapshot-id',
      ref,
      'snapshot-id': id,
    })
    expect(required).toEqual([
      [refOf('fill', null), refOf('main', main)],
      [refOf('fill', fill), refOf('main', main)],
    ])
  })

  it('is published once when others have moved main on the branch, or picked some of its snapshots', async () => {
    for (const name of ['byhand', 'picked']) {
      await tables(name)
      const session = await open(name)
      await session.step(signal)
      await session.step(signal)
      const { metadata, identifier } = await lab.load(`s.${name}_sink`)
      const [first, second] = metadata.snapshots.slice(1)
      const main = (id: bigint | undefined) =>
        commitTable(lab.catalog(), identifier, async () => {
          const ref = { 'ref-name': 'main', type: 'branch', 'snapshot-id': id } as const
          return { updates: [{ action: 'set-snapshot-ref', ...ref } as never], requirements: [], writtenFiles: [] }
        })
      if (name === 'byhand') {
        await main(second?.snapshotId)
        await lab.append(`s.${name}_sink`, numbered(110, 120))
      } else {
        await lab.append(`s.${name}_sink`, numbered(110, 120))
        const table = await lab.load(`s.${name}_sink`)
        const files = (await addedFiles(table, required(first))).files.map(({ task }) => task.dataFile)
        const summary = { 'source-snapshot-id': String(first?.snapshotId) }
        await commitTable(lab.catalog(), identifier, (fresh) =>
          stageAppend(fresh, { files, summary, operationId: 'pick' }),
        )
      }
      await drain(session)
      expect(await idsIn(name)).toEqual([...range(0, 30), ...range(100, 120)])
      expect(await refsOf(name)).toEqual(['main'])
    }
  })
})

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the table has too few snapshots')
  return value
}

describe('a publication that is interrupted', { timeout: 180_000 }, () => {
  it.each([[false], [true]])('brings each row to main once when any call fails (main has moved: %s)', async (moves) => {
    let failed = 0
    for (let failing = 1; ; failing += everyNth(STEP)) {
      const name = `f${failing}${moves ? 'm' : ''}`
      await tables(name)
      const faults = new Faults()
      const catalog = (): ReturnType<StreamLab['catalog']> => faults.wrap(lab.catalog(), CATALOG_CALLS)
      const { hit, error } = await faults.run(failing, async () => {
        const session = await open(name, {}, catalog, faults)
        await session.step(signal)
        if (moves) await faults.pause(async () => void (await lab.append(`s.${name}_sink`, numbered(110, 120))))
        await drain(session)
      })
      await lab.append(`s.${name}`, numbered(30, 40))
      await drain(await open(name, {}, catalog, faults))
      const ids = await idsIn(name)
      const others = ids.filter((id) => id >= 100)
      expect(ids, `call ${failing} failed`).toEqual([...range(0, 40), ...others])
      expect(await refsOf(name)).toEqual(['main'])
      if (error !== undefined) failed += 1
      if (!hit) break
    }
    expect(failed).toBeGreaterThan(Math.floor(20 / everyNth(STEP)))
  })

  it.each([[1], [2], [3], [4]])('is found to be done when commit %i took effect and threw', async (n) => {
    const name = `late${n}`
    await tables(name)
    const faulty = throwAfterCommit(lab.catalog())
    let commits = 0
    const counted = new Proxy(faulty.catalog, {
      get(target, key: keyof Catalog) {
        if (key === 'commit' && (commits += 1) === n) faulty.error = new TypeError('a bug')
        return target[key]
      },
    })
    await expect(drain(await open(name, {}, () => counted))).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    faulty.error = undefined
    await drain(await open(name))
    expect(await idsIn(name)).toEqual([...range(0, 30), ...range(100, 110)])
    expect(await refsOf(name)).toEqual(['main'])
  })
})
