import { expect } from 'vitest'
import { type Environment, RUN_ENVIRONMENTS } from '../../../src/domain/environments.ts'
import { FAST, numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { type Lifecycle, lifecycle, type Place } from '../../support/lifecycle.ts'
import type { Answer } from '../../support/service.ts'
import type { TestServiceOptions } from '../../support/service.ts'
import { sleep, until } from '../../support/waiting.ts'

/** Short times, so that tests need not wait. */
export const QUICK = { idleMs: 1500, startMs: 2000, pollMs: 20, lease: { ms: 3000, tickMs: 100 } }

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
type Body = any

/** A lakehouse, users, and what they do with deployments. */
export interface DeployLab {
  readonly lab: StreamLab
  readonly users: Lifecycle
  /** Creates `s.<name>_in` with rows 0 to `rows`, and `s.<name>_out`. */
  tables(name: string, rows?: number): Promise<void>
  append(name: string, from: number, to: number): Promise<void>
  /** Appends rows continuously, from this id on, until the returned function is called; it answers the number of rows. */
  writeOn(name: string, from: number): () => Promise<number>
  /** A definition that reads `s.<source>_in` and writes `s.<sink>_out`. */
  define(source: string, sink?: string, where?: string): Promise<Place>
  deploy(place: Place, environment?: Environment, more?: object): Promise<Answer>
  change(action: string, place: Place, environment?: Environment, more?: object): Promise<Answer>
  deploymentOf(place: Place, environment?: Environment): Promise<Body>
  untilState(place: Place, state: string, environment?: Environment): Promise<Body>
  /** Waits until the sink has the ids 0 to `rows`, each once. */
  untilCopied(name: string, rows: number): Promise<void>
  idsIn(table: string): Promise<number[]>
  pipeline(id: string): Promise<Body>
  close(): Promise<void>
}

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

/** A graph from one or more tables into one. */
export function graphOf(sources: readonly string[], sink: string, where = 'id >= 0') {
  const inputs = sources.map((table, at) => ({ id: `in${at}`, type: 'iceberg-source', config: { table } }))
  const isUnion = sources.length > 1
  return {
    nodes: [
      ...inputs,
      ...(isUnion ? [{ id: 'all', type: 'union', config: {} }] : []),
      { id: 'keep', type: 'filter', config: { condition: where } },
      { id: 'out', type: 'iceberg-sink', config: { table: sink } },
    ],
    edges: [
      ...inputs.map(({ id }) => ({ id: `from-${id}`, source: id, target: isUnion ? 'all' : 'keep' })),
      ...(isUnion ? [{ id: 'merged', source: 'all', target: 'keep' }] : []),
      { id: 'kept', source: 'keep', target: 'out' },
    ],
  }
}

/** Opens a {@link DeployLab}. */
export async function openDeployLab(options: TestServiceOptions = {}): Promise<DeployLab> {
  const overrides = { streaming: FAST, deployments: QUICK, ...options.overrides }
  const lab = await openLab({ ...options, overrides })
  const users = await lifecycle(lab.service)
  for (const environment of RUN_ENVIRONMENTS) {
    const body = { defaults: { trigger_interval: '100 ms' } }
    expect((await lab.service.call('PUT', `/api/environments/${environment}`, { body })).status).toBe(200)
  }
  const idsIn = async (table: string): Promise<number[]> => {
    const rows = await lab.rows(table)
    return rows.map((row) => Number((JSON.parse(row) as { id: string }).id)).sort((a, b) => a - b)
  }
  const deploymentOf = async (place: Place, environment: Environment = 'development'): Promise<Body> => {
    const { body } = await lab.service.get(
      `/api/deployments?definition_id=${place.definitionId}&environment=${environment}`,
    )
    return body[0]
  }
  const change: DeployLab['change'] = (action, place, environment = 'development', more = {}) =>
    lab.service.post(`${place.definition}/${action}`, { environment, ...more })
  return {
    lab,
    users,
    async tables(name, rows = 10) {
      await lab.createTable(`s.${name}_in`, COLUMNS)
      await lab.createTable(`s.${name}_out`, COLUMNS)
      if (rows > 0) await lab.append(`s.${name}_in`, numbered(0, rows))
    },
    append: async (name, from, to) => void (await lab.append(`s.${name}_in`, numbered(from, to))),
    writeOn(name, from) {
      const state = { goesOn: true, next: from }
      const done = (async () => {
        for (; state.goesOn; state.next += 5) {
          await lab.append(`s.${name}_in`, numbered(state.next, state.next + 5))
          await sleep(30)
        }
      })()
      return async () => {
        state.goesOn = false
        await done
        return state.next
      }
    },
    define: (source, sink = source, where) =>
      users.create(`copy ${source}`, graphOf([`s.${source}_in`], `s.${sink}_out`, where)),
    deploy: (place, environment, more) => change('deploy', place, environment, more),
    change,
    deploymentOf,
    async untilState(place, state, environment) {
      const found = async () => {
        const now = await deploymentOf(place, environment)
        return now?.state === state && now
      }
      return until(found, async () => `${state}: ${JSON.stringify(await deploymentOf(place, environment))}`, 120_000)
    },
    async untilCopied(name, rows) {
      const sink = `s.${name}_out`
      await until(
        async () => (await idsIn(sink)).length >= rows,
        async () => `${rows} rows in ${sink}: ${(await idsIn(sink)).length}`,
        120_000,
      )
      expect(await idsIn(sink)).toEqual(Array.from({ length: rows }, (_, id) => id))
    },
    idsIn,
    async pipeline(id) {
      return (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
    },
    close: () => lab.close(),
  }
}
