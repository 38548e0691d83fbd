import type { Catalog } from '../../../src/catalog/catalog.ts'
import { formatIdentifier, parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'
import { createGraphQuery } from '../../../src/streaming/query/graph-query.ts'
import { PipelineSession } from '../../../src/streaming/run/pipeline-session.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import type { TestServiceOptions } from '../../support/service.ts'
import { openLab, type StreamLab } from '../support.ts'

/** Columns of the sources and sinks. */
export const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

/** Columns of the tables of diverted rows. */
export const DIVERTED_COLUMNS = [
  ...COLUMNS,
  ['_reason', 'string'],
  ['_batch_id', 'long'],
  ['_pipeline', 'string'],
  ['_diverted_at', 'timestamptz'],
] as const

/** The signal of steps that nobody aborts. */
export const signal = new AbortController().signal

/** What happens to a commit that would apply. */
export type CommitFault = (apply: () => ReturnType<Catalog['commit']>) => ReturnType<Catalog['commit']>

/** Faults of a commit, by name. */
export const FAULTS = {
  refused: async () => ({ kind: 'refused', error: new IcebergError('IO_FAILED', 'the process has ended') }),
  killed: async () => {
    throw new Error('killed before the commit took effect')
  },
  'without an answer': async (apply) => {
    await apply()
    throw new Error('the answer was lost')
  },
} as const satisfies Record<string, CommitFault>

/** Where a session runs; default: the pipeline's only process. */
export interface Place {
  readonly catalog?: () => Catalog
  readonly runId?: string
  readonly checkpoint?: string
  readonly checkLease?: () => void
  /** Config of the sink node besides its table. */
  readonly write?: object
}

/** A lab of pipelines that divert rows: `s.<name>` into `s.<name>_sink`, and into `s.<name>_bad`. */
export interface DivertLab extends StreamLab {
  makeTables(name: string): Promise<void>
  /** A catalog with a fault in the commits to a table. */
  faulty(table: string, commit: CommitFault): () => Catalog
  /** A process that pauses before its first commit to a table takes effect, until it is released. */
  pausing(table: string): { catalog: () => Catalog; paused: Promise<void>; release: () => void }
  /** A session of a pipeline that diverts the rows for which the condition is not true. */
  openSession(name: string, condition: string, place?: Place): Promise<PipelineSession>
  /** The ids in a table, in order. */
  idsOf(table: string): Promise<string[]>
}

/** Opens a {@link DivertLab}. */
export async function openDivertLab(options: TestServiceOptions = {}): Promise<DivertLab> {
  const lab = await openLab(options)
  const sandbox = createDuckDbSandbox()
  const faulty = faultyIn(lab)
  return {
    ...lab,
    faulty,
    async makeTables(name) {
      await lab.createTable(`s.${name}`, COLUMNS)
      await lab.createTable(`s.${name}_sink`, COLUMNS)
      await lab.createTable(`s.${name}_bad`, DIVERTED_COLUMNS)
    },
    pausing(table) {
      const paused = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      const catalog = faulty(table, async (apply) => {
        paused.resolve()
        await released.promise
        return apply()
      })
      return { catalog, paused: paused.promise, release: released.resolve }
    },
    openSession(name, condition, { catalog = lab.catalog, runId = 'run', checkpoint = name, checkLease, write } = {}) {
      const graph = graphOf(name, condition, write)
      const { plan } = planGraph(graph)
      if (plan === undefined) throw new Error('the graph has problems')
      const deps = {
        catalog,
        tables: createTableWatch(catalog),
        engine: lab.engine,
        checkpointIo: new LocalFileIO(),
        now: () => new Date(),
        checkLease: checkLease ?? (() => undefined),
      }
      return PipelineSession.open(deps, {
        pipelineId: `pipe-${name}`,
        runId,
        queryId: `query-${name}`,
        sources: [parseIdentifier(`s.${name}`)],
        sink: parseIdentifier(`s.${name}_sink`),
        checkpointLocation: `file://${lab.service.folder}/cp/${checkpoint}`,
        triggerMs: 100,
        limits: { maxFiles: 1, maxBytes: 2 ** 30 },
        onDelete: 'fail',
        query: createGraphQuery({ graph, plan }, sandbox),
      })
    },
    idsOf: async (table) =>
      (await lab.rows(table)).map((text) => String(JSON.parse(text).id)).sort((a, b) => Number(a) - Number(b)),
    async close() {
      await sandbox.close()
      await lab.close()
    },
  }
}

function faultyIn(lab: StreamLab): DivertLab['faulty'] {
  return (table, commit) => {
    const inner = lab.catalog()
    const faultyCommit: Catalog['commit'] = async (identifier, request) => {
      const apply = (): ReturnType<Catalog['commit']> => inner.commit(identifier, request)
      return formatIdentifier(identifier) === table ? commit(apply) : apply()
    }
    const catalog = new Proxy(inner, {
      get: (target, key: keyof Catalog) => {
        const member = key === 'commit' ? faultyCommit : target[key]
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
    return () => catalog
  }
}

/** The graph of a pipeline of the lab; `write` is config of the sink node besides its table. */
export function graphOf(name: string, condition: string, write: object = {}) {
  const position = { x: 0, y: 0 }
  const config = {
    expectations: [{ name: 'good', condition, on_failure: 'divert' }],
    divert_to: `s.${name}_bad`,
  }
  return {
    nodes: [
      { id: 'a', type: 'iceberg-source' as const, config: { table: `s.${name}` }, position },
      { id: 'c', type: 'check' as const, config, position },
      { id: 'z', type: 'iceberg-sink' as const, config: { table: `s.${name}_sink`, ...write }, position },
    ],
    edges: [
      { id: 'e', source: 'a', target: 'c' },
      { id: 'f', source: 'c', target: 'z' },
    ],
  }
}

/** Ids `from` to `to` (exclusive), as {@link DivertLab.idsOf} lists them. */
export const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => String(from + at))

/** Takes steps until everything is read. */
export async function drain(session: PipelineSession): Promise<void> {
  while ((await session.step(signal)).kind === 'batch');
}
