import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestService } from '../../support/service.ts'
import { createDemo } from '../../../src/services/catalogs/demo.ts'
import { createLogger } from '../../../src/services/logger.ts'

const SMALL = { commits: 1, filesPerCommit: 1, rowsPerFile: 10 }

describe('a first start with the demo', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-demo-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('keeps the tables that the catalog has already', async () => {
    const env = { LOCKHOUSE_HOME: join(folder, 'home') }
    const first = await startTestService({ env, events: SMALL })
    const before = (await first.get('/api/table/demo.events')).body.metadata_location
    expect(before).toBeTypeOf('string')
    await first.close()
    const files = (await readdir(env.LOCKHOUSE_HOME)).filter((name) => name.startsWith('state.'))
    expect(files).not.toEqual([])
    for (const name of files) await rm(join(env.LOCKHOUSE_HOME, name))
    const second = await startTestService({ env: { ...env, LOCKHOUSE_DEMO: '1' } })
    const { tables } = (await second.get('/api/tables')).body
    expect(tables.map(({ table }: { table: string }) => table)).toEqual(['demo.events', 'demo.orders', 'demo.trips'])
    expect((await second.get('/api/table/demo.events')).body.metadata_location).toBe(before)
    expect((await second.get('/api/policies')).body.policies).toHaveLength(1)
    await second.close()
  })
})

it('a demo goes on when one of its parts fails, and says why', async () => {
  const lines: string[] = []
  const made: string[] = []
  const steps = [
    () => Promise.reject(new Error('the warehouse cannot be written')),
    async () => void made.push('policy'),
  ]
  const demo = createDemo(
    steps,
    createLogger('error', (line) => void lines.push(line)),
  )
  await demo.create()
  expect(made).toEqual(['policy'])
  expect(lines.join('\n')).toContain('the warehouse cannot be written')
  expect(demo.isCreating()).toBe(false)
})
