import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { numbered, openLab, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

describe('the checkpoint of a pipeline', () => {
  let lab: StreamLab
  let home = ''
  beforeAll(async () => {
    lab = await openLab()
    home = `${lab.service.folder}/home`
  })
  afterAll(() => lab.close())

  const folder = (name: string): string => `${home}/cp/${name}`
  const status = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
  const stop = (id: string) => lab.service.post(`/api/pipeline/${id}/stop`, {})
  const numbersIn = (path: string): number[] =>
    readdirSync(path)
      .filter((file) => /^\d+$/.test(file))
      .map(Number)
      .sort((a, b) => a - b)
  const lastOffset = (name: string): string => `${folder(name)}/offsets/${numbersIn(`${folder(name)}/offsets`).at(-1)}`

  const request = (name: string, more: object = {}): Record<string, unknown> => ({
    source_table: `s.${name}`,
    sink_table: `s.${name}_sink`,
    checkpoint_location: `cp/${name}`,
    trigger_interval: '100 ms',
    create_sink_table: true,
    max_files_per_batch: 1,
    ...more,
  })
  const ask = (name: string, more: object = {}) => lab.service.post('/api/pipeline/start', request(name, more))

  async function start(name: string): Promise<string> {
    const answer = await ask(name)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body.pipeline.id
  }

  const untilState = (id: string, state: string) =>
    until(async () => {
      const pipeline = await status(id)
      return pipeline.state === state ? pipeline : undefined
    }, `state ${state}`)

  async function untilSame(name: string): Promise<void> {
    const rows = (await lab.rows(`s.${name}`)).length
    await until(async () => (await lab.rows(`s.${name}_sink`).catch(() => [])).length >= rows, 'all rows')
    expect(await lab.rows(`s.${name}_sink`)).toEqual(await lab.rows(`s.${name}`))
  }

  /** A pipeline that has read some batches and is stopped. */
  async function ran(name: string): Promise<string> {
    await lab.createTable(`s.${name}`, [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let at = 0; at < 3; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
    const id = await start(name)
    await untilSame(name)
    await stop(id)
    return id
  }

  async function setSinkProperty(name: string, edit: (text: string) => string): Promise<void> {
    await commitTable(lab.catalog(), parseIdentifier(`s.${name}_sink`), async ({ metadata }) => {
      const entries = Object.entries(metadata.properties).filter(([key]) => key.startsWith('lockhouse.pipeline.'))
      expect(entries).toHaveLength(1)
      const updates = Object.fromEntries(entries.map(([key, text]) => [key, edit(text)]))
      return { updates: [{ action: 'set-properties', updates }], requirements: [], writtenFiles: [] }
    })
  }

  it('with a truncated file is refused at the start; the pipeline continues once the folder is deleted', async () => {
    const id = await ran('cut')
    truncateSync(lastOffset('cut'), 5)
    const { status: code, body } = await ask('cut')
    expect([code, body.errors[0].path]).toEqual([422, 'checkpoint_location'])
    expect(body.detail).toMatch(/offsets\/2 .* delete the folder/)
    expect((await status(id)).state).toBe('stopped')
    rmSync(folder('cut'), { recursive: true })
    await lab.append('s.cut', numbered(30, 40))
    expect(await start('cut')).toBe(id)
    await untilSame('cut')
    await stop(id)
    // Spark reads the last two batches
    expect(numbersIn(`${folder('cut')}/offsets`)).toEqual([1, 2, 3])
  })

  it('truncated while the service was down degrades the pipeline until the file is restored', LONG, async () => {
    const id = await ran('torn')
    await start('torn')
    await untilState(id, 'running')
    const file = lastOffset('torn')
    const good = readFileSync(file)
    writeFileSync(file, '')
    await lab.service.restart()
    const degraded = await untilState(id, 'degraded')
    expect(degraded.error).toMatchObject({ code: 'CORRUPT_FILE', message: expect.stringContaining('offsets/2') })
    await lab.append('s.torn', numbered(30, 40))
    writeFileSync(file, good)
    await untilSame('torn')
    await stop(id)
  })

  it('of another pipeline is refused at the start, and fails a running pipeline', LONG, async () => {
    const id = await ran('mine')
    await ran('theirs')
    cpSync(folder('mine'), folder('saved'), { recursive: true })
    rmSync(folder('mine'), { recursive: true })
    cpSync(folder('theirs'), folder('mine'), { recursive: true })
    const { status: code, body } = await ask('mine')
    expect([code, body.errors[0].path], JSON.stringify(body)).toEqual([409, 'checkpoint_location'])
    expect(body.detail).toContain('from s.theirs into s.theirs_sink')
    rmSync(folder('mine'), { recursive: true })
    cpSync(folder('saved'), folder('mine'), { recursive: true })
    await start('mine')
    await untilState(id, 'running')
    rmSync(folder('mine'), { recursive: true })
    cpSync(folder('theirs'), folder('mine'), { recursive: true })
    await lab.service.restart()
    const failed = await untilState(id, 'failed')
    expect(failed.error.code).toMatch(/^(CHECKPOINT_MISMATCH|TABLE_REPLACED)$/)
    await lab.append('s.mine', numbered(30, 40))
    expect(await lab.rows('s.mine_sink')).toHaveLength(30)
    rmSync(folder('mine'), { recursive: true })
    cpSync(folder('saved'), folder('mine'), { recursive: true })
    expect(await start('mine')).toBe(id)
    await untilSame('mine')
    await stop(id)
  })

  it('of a newer version of the service or of Spark is refused with the field name', async () => {
    await ran('newer')
    const owner = `${folder('newer')}/lockhouse.json`
    const text = readFileSync(owner, 'utf8')
    writeFileSync(owner, text.replace('"version":1', '"version":2'))
    const byUs = await ask('newer')
    expect([byUs.status, byUs.body.errors[0].path]).toEqual([422, 'checkpoint_location'])
    expect(byUs.body.detail).toContain('newer version')
    writeFileSync(owner, text)
    const offset = lastOffset('newer')
    const good = readFileSync(offset, 'utf8')
    for (const bad of [good.replace('v1', 'v2'), good.replace('"version":1', '"version":9')]) {
      writeFileSync(offset, bad)
      const { status: code, body } = await ask('newer')
      expect([code, body.errors[0].path], bad).toEqual([422, 'checkpoint_location'])
    }
    writeFileSync(offset, good)
    await setSinkProperty('newer', (value) => value.replace('"version":1', '"version":7'))
    const bySink = await ask('newer')
    expect([bySink.status, bySink.body.errors[0].path]).toEqual([422, 'sink_table'])
    expect(bySink.body.detail).toContain('newer version')
    await setSinkProperty('newer', () => 'no json')
    const damaged = await ask('newer')
    expect([damaged.status, damaged.body.errors[0].path]).toEqual([422, 'sink_table'])
  })

  it('with higher batch numbers in nested folders skips no batch', LONG, async () => {
    const id = await ran('deeper')
    await lab.append('s.deeper', numbered(30, 40))
    const { metadata } = await lab.catalog().loadTable(parseIdentifier('s.deeper'))
    // a planned batch that did not reach the sink
    const planned = { version: 1, snapshot_id: 'id', position: 1, scan_all_files: false }
    const [head, conf] = readFileSync(lastOffset('deeper'), 'utf8').split('\n')
    const offset = JSON.stringify(planned).replace('"id"', `${metadata.currentSnapshotId}`)
    writeFileSync(`${folder('deeper')}/offsets/3`, [head, conf, offset].join('\n'))
    for (const part of ['commits', 'offsets']) {
      mkdirSync(`${folder('deeper')}/${part}/${part}`)
      writeFileSync(`${folder('deeper')}/${part}/${part}/9`, 'v1\n{}')
    }
    await start('deeper')
    await untilSame('deeper')
    await stop(id)
  })

  it('cannot be inside the checkpoint of another pipeline', async () => {
    await ran('outer')
    await lab.createTable('s.guest', [['id', 'long']])
    for (const part of ['commits', 'offsets', 'sources/0', 'deep/below']) {
      const { status: code, body } = await ask('guest', { checkpoint_location: `cp/outer/${part}` })
      expect([code, body.errors?.[0].path], part).toEqual([400, 'checkpoint_location'])
      expect(body.detail).toContain('checkpoint of another pipeline')
    }
  })

  it('restored from a backup older than the sink adds no row twice', LONG, async () => {
    const id = await ran('backup')
    cpSync(folder('backup'), folder('backup-of-it'), { recursive: true })
    for (let at = 3; at < 8; at += 1) await lab.append('s.backup', numbered(at * 10, at * 10 + 10))
    await start('backup')
    await untilSame('backup')
    await stop(id)
    rmSync(folder('backup'), { recursive: true })
    cpSync(folder('backup-of-it'), folder('backup'), { recursive: true })
    await lab.append('s.backup', numbered(80, 90))
    await start('backup')
    await untilSame('backup')
    await stop(id)
    expect(await lab.rows('s.backup_sink')).toHaveLength(90)
  })

  it('with missing records or unknown files can still be resumed', LONG, async () => {
    const id = await ran('holes')
    const removals = ['metadata', 'lockhouse.json', 'commits', 'sources', 'offsets']
    let rows = 30
    for (const name of removals) {
      rmSync(`${folder('holes')}/${name}`, { recursive: true, force: true })
      mkdirSync(`${folder('holes')}/offsets`, { recursive: true })
      writeFileSync(`${folder('holes')}/offsets/.99.crc`, 'x')
      writeFileSync(`${folder('holes')}/offsets/notes.txt`, 'x')
      await lab.append('s.holes', numbered(rows, rows + 10))
      rows += 10
      expect(await start('holes'), name).toBe(id)
      await untilSame('holes')
      await stop(id)
      expect(existsSync(`${folder('holes')}/metadata`)).toBe(true)
    }
  })

  it('keeps the records of the last 100 batches', { ...LONG, timeout: 300_000 }, async () => {
    await lab.createTable('s.many', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let at = 0; at < 104; at += 1) await lab.append('s.many', numbered(at, at + 1))
    const id = await start('many')
    await until(async () => (await status(id)).last_progress?.batch_id === 103, 'all batches', 90_000)
    await stop(id)
    const offsets = numbersIn(`${folder('many')}/offsets`)
    expect(offsets.at(-1)).toBe(103)
    expect(offsets).toHaveLength(100)
    await lab.append('s.many', numbered(104, 110))
    await start('many')
    await untilSame('many')
    await stop(id)
  })
})
