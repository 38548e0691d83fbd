import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/waiting.ts'
import { pyicebergAvailable, skipLoudly } from '../harness/environment.ts'
import { runPython } from '../harness/python.ts'
import type { Rows } from '../harness/rows.ts'
import { Service } from '../harness/service.ts'
import { CLIENT_LIBRARIES, ClientProcess } from './client-process.ts'

const ROUNDS = 15
const BATCH = 40
const hasPyIceberg = pyicebergAvailable('clients of the served catalog')

for (const { name, variable, command } of CLIENT_LIBRARIES) {
  const isAvailable = hasPyIceberg && command !== undefined
  if (command === undefined) skipLoudly(`${name} as a client`, variable, 'catalog-clients.sh')

  describe.skipIf(!isAvailable)(`${name} as a client of the served catalog`, { timeout: 300_000 }, () => {
    const folder = isAvailable ? mkdtempSync(join(tmpdir(), 'lockhouse-client-')) : ''
    let service: Service
    let client: ClientProcess

    beforeAll(async () => {
      service = await Service.start({ home: join(folder, 'home'), env: { LOCKHOUSE_DEMO: '0' } })
      client = new ClientProcess(command ?? [], { uri: uri(), token: service.token })
    }, 120_000)

    afterAll(async () => {
      client?.stop()
      await service?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    const uri = (): string => `http://127.0.0.1:${service.port}/iceberg`
    const byPyIceberg = (...tables: readonly string[]): Promise<Record<string, Rows>> =>
      runPython('pyiceberg_rows.py', {
        uri: uri(),
        warehouse: 'lockhouse',
        properties: { token: service.token },
        tables,
      })
    const range = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)

    it('creates, lists, writes and reads tables', async () => {
      await client.ask({ do: 'create', table: 'first' })
      await client.ask({ do: 'create', table: 'second' })
      expect((await client.ask({ do: 'list' })).tables?.toSorted()).toEqual(['first', 'second'])
      await client.ask({ do: 'append', table: 'first', first: 0, count: 10 })
      await client.ask({ do: 'append', table: 'first', first: 10, count: 5 })
      expect(await client.ids('first')).toEqual(range(15))
      const read = await byPyIceberg('db.first')
      expect(read['db.first']?.count).toBe(15)
      await expect(client.ids('none')).rejects.toThrow(/does not exist|not found/i)
    })

    it('writes and reads while a pipeline, compaction and expiry run, and no row is lost', async () => {
      await client.ask({ do: 'create', table: 'busy' })
      const started = await service.post('/api/pipeline/start', {
        source_table: 'db.busy',
        sink_table: 'db.busy_copy',
        create_sink_table: true,
        checkpoint_location: 'cp/busy',
        trigger_interval: '200 ms',
      })
      expect(started.status, JSON.stringify(started.body)).toBe(200)
      const outcomes = { compact: 0, expire: 0 }
      let isWriting = true
      const maintain = async (): Promise<void> => {
        while (isWriting) {
          const compacted = await service.post('/api/compact', { table: 'db.busy', min_input_files: 2 })
          if (compacted.status === 200) outcomes.compact += 1
          const older_than = new Date().toISOString()
          const expired = await service.post('/api/expire', { table: 'db.busy', older_than, retain_last: 2 })
          if (expired.status === 200) outcomes.expire += 1
        }
      }
      const maintaining = maintain()
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          await client.ask({ do: 'append', table: 'busy', first: round * BATCH, count: BATCH })
          expect(await client.ids('busy')).toEqual(range((round + 1) * BATCH))
        }
      } finally {
        isWriting = false
        await maintaining
      }
      expect(outcomes.compact).toBeGreaterThan(0)
      expect(outcomes.expire).toBeGreaterThan(0)
      await until(
        async () => (await client.ids('busy_copy')).length === ROUNDS * BATCH,
        () => service.log,
        120_000,
      )
      const read = await byPyIceberg('db.busy', 'db.busy_copy')
      expect(read['db.busy']?.count).toBe(ROUNDS * BATCH)
      expect(read['db.busy_copy']?.hash).toBe(read['db.busy']?.hash)
      process.stdout.write(`${name}: ${ROUNDS} appends, ${outcomes.compact} compactions, ${outcomes.expire} expiries\n`)
      const { pipeline } = started.body as { readonly pipeline: { readonly id: string } }
      expect((await service.post(`/api/pipeline/${pipeline.id}/stop`, {})).status).toBe(200)
    })
  })
}
