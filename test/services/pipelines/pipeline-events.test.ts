import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/engines/engine.ts'
import { LONG } from '../../support/effort.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { startFakeReceiver } from '../../support/network/fake-receiver.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { sleep, until } from '../../support/waiting.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

interface PipelineEvent {
  readonly type: string
  readonly object_type: string
  readonly object_id: string
  readonly data: Readonly<Record<string, unknown>>
}

const STEADY_MS = 1500

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`events of pipelines on ${kind.name}`, () => {
    let lab: StreamLab
    /** Batches that fail, and how many have. */
    let fault: IcebergError | undefined
    let failures = 0
    const misbehaving = (engine: Engine): Engine =>
      overriddenEngine(engine, {
        appendFrom: async (task, options) => {
          if (fault === undefined) return engine.appendFrom(task, options)
          failures += 1
          throw fault
        },
      })

    beforeAll(async () => {
      const place = await kind.place()
      lab = await openLab({
        env: { ...place.env, WEBHOOK_ALLOW_PRIVATE: 'true' },
        onClose: place.remove,
        overrides: {
          wrapEngine: misbehaving,
          streaming: {
            backoff: { firstMs: 20, maxMs: 40 },
            lease: { ms: 3000, tickMs: 100 },
            steadyMs: STEADY_MS,
          },
        },
      })
    })
    afterAll(() => lab.close())

    async function start(name: string): Promise<string> {
      const answer = await lab.service.post('/api/pipeline/start', {
        source_table: `s.${name}`,
        sink_table: `s.${name}_sink`,
        checkpoint_location: `cp/${name}`,
        trigger_interval: '100 ms',
        create_sink_table: true,
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return answer.body.pipeline.id
    }

    const makeSource = async (name: string): Promise<void> => {
      const columns = [
        ['id', 'long'],
        ['name', 'string'],
      ] as const
      await lab.createTable(`s.${name}`, columns)
      await lab.append(`s.${name}`, numbered(0, 10))
    }

    const eventsOf = async (id: string): Promise<PipelineEvent[]> => {
      const { body } = await lab.service.get('/api/events?type=pipeline.*&limit=1000')
      return body.events.filter((event: PipelineEvent) => event.object_id === id)
    }
    const typesOf = async (id: string): Promise<string[]> => (await eventsOf(id)).map(({ type }) => type)

    const untilState = (id: string, state: string) =>
      until(async () => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline.state === state, state)

    const untilTypes = (id: string, last: string) =>
      until(async () => ((await typesOf(id)).at(-1) === last ? typesOf(id) : undefined), last)

    it('say what was started and stopped, with its tables, once across a restart', async () => {
      await makeSource('plain')
      const id = await start('plain')
      await untilState(id, 'running')
      await lab.service.restart()
      await untilState(id, 'running')
      await lab.service.post(`/api/pipeline/${id}/stop`, {})
      await untilTypes(id, 'pipeline.stopped')
      const events = await eventsOf(id)
      expect(events.map(({ type }) => type)).toEqual(['pipeline.started', 'pipeline.stopping', 'pipeline.stopped'])
      for (const event of events) {
        expect(event).toMatchObject({
          object_type: 'pipeline',
          data: { id, source_tables: ['s.plain'], sink_table: 's.plain_sink', environment: null, error: null },
        })
      }
    })

    it('are told by an alert about its table, once', LONG, async () => {
      const receiver = await startFakeReceiver()
      const channel = { type: 'pagerduty', routing_key: 'a'.repeat(32), url: receiver.url }
      const alert = { name: 'told', events: ['pipeline.degraded', 'pipeline.failed'], tables: ['s.told*'], channel }
      expect((await lab.service.post('/api/alerts', alert)).status).toBe(201)
      await makeSource('told')
      const id = await start('told')
      await untilState(id, 'running')
      const before = failures
      fault = new IcebergError('ENGINE_FAILED', 'the disk is full')
      await lab.append('s.told', numbered(10, 20))
      await until(() => failures >= before + 3, 'three failures')
      fault = undefined
      await untilTypes(id, 'pipeline.recovered')
      await receiver.until(2)
      const [trigger, resolve] = receiver.received.map(({ body }) => JSON.parse(body))
      expect(trigger).toMatchObject({ event_action: 'trigger', payload: { summary: 'Pipeline degraded: s.told_sink' } })
      expect(trigger.payload.custom_details).toMatchObject({
        Error: 'ENGINE_FAILED: the disk is full',
        Source: 's.told',
      })
      expect(resolve).toMatchObject({ event_action: 'resolve', dedup_key: trigger.dedup_key })
      await lab.service.post(`/api/pipeline/${id}/stop`, {})
      await untilTypes(id, 'pipeline.stopped')
      expect(receiver.received).toHaveLength(2)
      await receiver.close()
    })

    it('say degraded once for many failures, and recovered once it has run for a while', LONG, async () => {
      await makeSource('shaky')
      const id = await start('shaky')
      await untilState(id, 'running')
      for (let round = 0; round < 3; round += 1) {
        const before = failures
        fault = new IcebergError('ENGINE_FAILED', 'the disk is full')
        await lab.append('s.shaky', numbered(round * 10 + 10, round * 10 + 20))
        await until(() => failures >= before + 3, 'three failures')
        expect(await typesOf(id)).toEqual(['pipeline.started', 'pipeline.degraded'])
        fault = undefined
        await untilState(id, 'running')
      }
      expect(await untilTypes(id, 'pipeline.recovered')).toEqual([
        'pipeline.started',
        'pipeline.degraded',
        'pipeline.recovered',
      ])
      const [, degraded, recovered] = await eventsOf(id)
      expect(degraded?.data['error']).toEqual({ code: 'ENGINE_FAILED', message: 'the disk is full' })
      expect(recovered?.data['error']).toBeNull()
      await sleep(STEADY_MS)
      expect(await typesOf(id)).toHaveLength(3)
      await lab.service.post(`/api/pipeline/${id}/stop`, {})
    })

    it('say failed with the reason, once, and deleted', async () => {
      await makeSource('swapped')
      const id = await start('swapped')
      await untilState(id, 'running')
      const { metadata } = await lab.load('s.swapped')
      await lab.catalog().dropTable(parseIdentifier('s.swapped'))
      await lab.catalog().createTable(parseIdentifier('s.swapped'), {
        schema: metadata.schemas[0]!,
        location: `${lab.catalog().warehouse}/s/swapped_2`,
      })
      await untilState(id, 'failed')
      const types = await untilTypes(id, 'pipeline.failed')
      expect(types.filter((type) => type === 'pipeline.failed')).toHaveLength(1)
      const failed = (await eventsOf(id)).at(-1)
      expect(failed?.data['error']).toMatchObject({ code: 'TABLE_REPLACED' })
      expect(JSON.stringify(failed)).not.toContain(lab.service.folder)
      expect((await lab.service.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
      expect((await typesOf(id)).at(-1)).toBe('pipeline.deleted')
    })
  })
}
