import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { observedCatalog } from '../../../src/services/metrics/observed-catalog.ts'
import { PipelineStopped } from '../../../src/streaming/pipeline-errors.ts'
import { PipelineSession } from '../../../src/streaming/run/pipeline-session.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { throwAfterCommit } from '../../catalog/throw-after-commit.ts'
import { numbered, openLab, orphansOf, type StreamLab } from '../support.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

const signal = new AbortController().signal

async function openSession(
  name: string,
  catalog: StreamLab['catalog'],
  checkLease: () => void = () => undefined,
): Promise<PipelineSession> {
  const deps = {
    catalog,
    tables: createTableWatch(catalog),
    engine: lab.engine,
    checkpointIo: new LocalFileIO(),
    now: () => new Date(),
    checkLease,
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
    query: copyQuery(),
  })
}

describe('a batch whose lease ends', () => {
  it('between the metadata file and the pointer is not committed, and leaves no file', async () => {
    for (const table of ['s.lease', 's.lease_sink'])
      await lab.createTable(table, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    await lab.append('s.lease', numbered(0, 10))
    const ended = new PipelineStopped('FENCED', 'the lease has expired')
    let hasEnded = false
    const real = lab.catalog()
    const slow = observedCatalog(real, async (_, call) => call())
    const commit: typeof real.commit = (identifier, request) =>
      real.commit(identifier, { ...request, onStaged: async () => void (hasEnded = true) })
    const session = await openSession(
      'lease',
      () => ({ ...slow, commit }),
      () => {
        if (hasEnded) throw ended
      },
    )
    await expect(session.step(signal)).rejects.toBe(ended)
    expect(await lab.rows('s.lease_sink')).toEqual([])
    expect(await orphansOf(await lab.load('s.lease_sink'))).toEqual([])
  })
})

describe('a batch whose commit throws after the pointer has moved', () => {
  it.each([
    ['disk', new IcebergError('IO_FAILED', 'the disk is full')],
    ['late', new IcebergError('COMMIT_CONFLICT', 'a late conflict')],
    ['bug', new TypeError('a bug')],
  ])('keeps its files, and the next session reads every row once (%s)', async (name, error) => {
    for (const table of [`s.${name}`, `s.${name}_sink`])
      await lab.createTable(table, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    for (let at = 0; at < 3; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
    const faulty = throwAfterCommit(lab.catalog())
    const session = await openSession(name, () => faulty.catalog)
    await session.step(signal)
    faulty.error = error
    await expect(session.step(signal)).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN', cause: error })
    expect(faulty.thrown).toBe(1)
    expect(await lab.rows(`s.${name}_sink`)).toHaveLength(20)
    const next = await openSession(name, lab.catalog)
    while ((await next.step(signal)).kind === 'batch');
    expect(await lab.rows(`s.${name}_sink`)).toEqual(await lab.rows(`s.${name}`))
    expect(await orphansOf(await lab.load(`s.${name}_sink`))).toEqual([])
  })
})
