import { memberOf } from '../../../src/catalog/catalog.ts'
import { mkdirSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { sleep, until } from '../../support/waiting.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

const labs: StreamLab[] = []
afterEach(async () => {
  for (const lab of labs.splice(0)) await lab.close()
})

async function open(overrides: Parameters<typeof openLab>[0] = {}): Promise<StreamLab> {
  const lab = await openLab(overrides)
  labs.push(lab)
  return lab
}

/** Configures another SQL catalog, and returns whether the previous one is closed. */
async function configureNext(lab: StreamLab, name: string): Promise<() => boolean> {
  const before = memberOf(lab.catalog(), {})
  const close = before.close.bind(before)
  let closes = 0
  before.close = async () => {
    closes += 1
    await close()
  }
  const warehouse = `${lab.service.folder}/${name}`
  mkdirSync(warehouse)
  const uri = `sqlite:///${warehouse}/catalog.db`
  const body = { catalog_type: 'sql', catalog_name: name, warehouse, uri, create: true }
  expect(await lab.service.call('PUT', '/api/config', { body })).toMatchObject({ status: 200 })
  return () => {
    expect(closes).toBeLessThanOrEqual(1)
    return closes === 1
  }
}

describe('a replaced catalog', () => {
  it('is closed each time, after a delay', async () => {
    const lab = await open({ overrides: { catalogCloseAfterMs: 20 } })
    for (const name of ['second', 'third', 'fourth']) {
      const isClosed = await configureNext(lab, name)
      await until(isClosed)
    }
    expect((await lab.service.get('/api/tables')).status).toBe(200)
  })

  it('stays open for calls that have just started on it, and is closed with the service', async () => {
    const lab = await open()
    const isClosed = await configureNext(lab, 'second')
    await sleep(100)
    expect(isClosed()).toBe(false)
    labs.pop()
    await lab.close()
    expect(isClosed()).toBe(true)
  })

  it('may be one that does not respond any more', async () => {
    const lab = await open()
    const failing = memberOf(lab.catalog(), {})
    failing.listTables = () => Promise.reject(new IcebergError('IO_FAILED', 'the database is gone'))
    delete failing.listEntries
    expect((await lab.service.get('/api/tables')).status).toBe(503)
    await configureNext(lab, 'second')
    expect((await lab.service.get('/api/tables')).body.tables).toEqual([])
  })

  it('stays open until its running operation ends', async () => {
    const started = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const wrapEngine = (engine: Engine): Engine =>
      overriddenEngine(engine, {
        async rewrite(task, options) {
          started.resolve()
          await released.promise
          return engine.rewrite(task, options)
        },
      })
    const lab = await open({ overrides: { catalogCloseAfterMs: 20, wrapEngine } })
    await lab.createTable('s.events', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let at = 0; at < 3; at += 1) await lab.append('s.events', numbered(at * 10, at * 10 + 10))
    const compacting = lab.service.post('/api/compact', { table: 's.events', min_input_files: 2 })
    await started.promise
    const isClosed = await configureNext(lab, 'second')
    await sleep(200)
    expect(isClosed()).toBe(false)
    released.resolve()
    const { status, body } = await compacting
    expect(status).toBe(200)
    expect(JSON.parse(body.details_json)).toMatchObject({ rewritten_data_files_count: 3, added_data_files_count: 1 })
    await until(isClosed)
  })
})
