import { utimes } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { runRemoveOrphans } from '../../../src/maintenance/orphans/orphan-files.ts'
import { numbered } from '../support.ts'
import { DIVERTED_COLUMNS, type DivertLab, drain, FAULTS, ids, openDivertLab, signal } from './divert-lab.ts'

let lab: DivertLab
beforeAll(async () => {
  lab = await openDivertLab()
})
afterAll(() => lab.close())

const DAY_MS = 86_400_000

/** Leaves rows 0 to 3 uncommitted; all files of their table are four days old, and so is a file that nothing needs. */
async function endBetweenCommits(name: string): Promise<void> {
  await lab.makeTables(name)
  await lab.append(`s.${name}`, numbered(0, 10))
  const catalog = lab.faulty(`s.${name}_bad`, FAULTS.refused)
  await expect((await lab.openSession(name, 'id >= 4', { catalog })).step(signal)).rejects.toMatchObject({
    code: 'IO_FAILED',
  })
  const { metadata, io } = await lab.load(`s.${name}_bad`)
  await io.create(`${metadata.location}/data/lost.parquet`, new Uint8Array(9))
  await age(name)
}

async function age(name: string): Promise<void> {
  const { metadata, io } = await lab.load(`s.${name}_bad`)
  const at = new Date(Date.now() - 4 * DAY_MS)
  for await (const { location } of io.list(metadata.location)) await utimes(location.slice('file://'.length), at, at)
}

async function removeOrphans(name: string) {
  const { status, body } = await lab.service.post('/api/remove-orphans', { table: `s.${name}_bad` })
  expect(status, JSON.stringify(body)).toBe(200)
  return JSON.parse(body.details_json)
}

const LOST = [expect.stringMatching(/lost\.parquet$/)]

describe('orphan removal in a table of diverted rows', () => {
  it('keeps files of rows that a batch in the sink names, until they are committed', async () => {
    await endBetweenCommits('kept')
    const removed = await removeOrphans('kept')
    expect(removed).toMatchObject({ orphan_file_locations: LOST, deleted_files_count: 1, kept_shared_files_count: 2 })
    for (const file of removed.kept_files) {
      expect(file).toMatchObject({ reason: 'used_by_other_table', table: 's.kept_sink' })
    }
    await lab.openSession('kept', 'id >= 4')
    expect(await lab.idsOf('s.kept_bad')).toEqual(ids(0, 4))
    await lab.append('s.kept', numbered(10, 20))
    await drain(await lab.openSession('kept', 'id >= 14'))
    await age('kept')
    expect(await removeOrphans('kept')).toMatchObject({ deleted_files_count: 0, kept_shared_files_count: 0 })
    expect(await lab.idsOf('s.kept_bad')).toEqual([...ids(0, 4), ...ids(10, 14)])
  })

  it('keeps them without the state database of their pipeline', async () => {
    await endBetweenCommits('foreign')
    const identifier = parseIdentifier('s.foreign_bad')
    const removed = await runRemoveOrphans({ catalog: lab.catalog(), identifier, request: {}, nowMs: Date.now() })
    expect(removed.orphan_file_locations).toEqual(LOST)
    await lab.openSession('foreign', 'id >= 4')
    expect(await lab.idsOf('s.foreign_bad')).toEqual(ids(0, 4))
  })

  it('keeps them in a table that was created in the place of theirs', async () => {
    await endBetweenCommits('placed')
    await lab.catalog().dropTable(parseIdentifier('s.placed_bad'))
    const { metadata, io } = await lab.createTable('s.placed_bad', DIVERTED_COLUMNS)
    // the metadata of the table before would refuse the removal as a whole
    for await (const { location } of io.list(`${metadata.location}/metadata`)) {
      if (location.endsWith('.metadata.json') && location !== (await lab.load('s.placed_bad')).metadataLocation)
        await new LocalFileIO().delete(location)
    }
    await age('placed')
    expect(await removeOrphans('placed')).toMatchObject({ orphan_file_locations: LOST, kept_shared_files_count: 2 })
    await lab.openSession('placed', 'id >= 4')
    expect(await lab.idsOf('s.placed_bad')).toEqual(ids(0, 4))
  })

  it('keeps them while a sink has a progress that cannot be read', async () => {
    await endBetweenCommits('unread')
    const property = 'lockhouse.pipeline.query-unread'
    const { identifier, metadata } = await lab.load('s.unread_sink')
    const set = async (text: string): Promise<void> => {
      await commitTable(lab.catalog(), identifier, async () => ({
        requirements: [],
        updates: [{ action: 'set-properties', updates: { [property]: text } }],
        writtenFiles: [],
      }))
    }
    await set('{"version": 1, "diverting": [{"manifest": ')
    expect(await removeOrphans('unread')).toMatchObject({ orphan_file_locations: LOST, kept_shared_files_count: 2 })
    await set(metadata.properties[property]!)
    await lab.openSession('unread', 'id >= 4')
    expect(await lab.idsOf('s.unread_bad')).toEqual(ids(0, 4))
  })

  it('returns files from quarantine instead of their deletion if a batch names them later', async () => {
    await lab.makeTables('late')
    await lab.append('s.late', numbered(0, 10))
    const { catalog, paused, release } = lab.pausing('s.late_sink')
    const step = (await lab.openSession('late', 'id >= 4', { catalog })).step(signal)
    const stopped = expect(step).rejects.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
    await paused
    await age('late')
    const { quarantine } = await removeOrphans('late')
    expect(quarantine).toMatchObject({ files_count: 2 })
    release()
    await stopped
    const { status, body } = await lab.service.post(`/api/quarantine/${quarantine.id}/purge`, {})
    expect(status, JSON.stringify(body)).toBe(200)
    await lab.openSession('late', 'id >= 4')
    expect(await lab.idsOf('s.late_bad')).toEqual(ids(0, 4))
  })

  it('removes those of a batch that never came to the sink', async () => {
    await lab.makeTables('never')
    await lab.append('s.never', numbered(0, 10))
    const catalog = lab.faulty('s.never_sink', FAULTS.killed)
    await expect((await lab.openSession('never', 'id >= 4', { catalog })).step(signal)).rejects.toMatchObject({
      code: 'COMMIT_STATE_UNKNOWN',
    })
    await drain(await lab.openSession('never', 'id >= 7'))
    await age('never')
    await removeOrphans('never')
    expect(await lab.idsOf('s.never_bad')).toEqual(ids(0, 7))
  })
})
