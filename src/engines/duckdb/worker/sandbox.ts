import { IcebergError } from '../../../iceberg/errors.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import { FairSlots } from '../../fair-slots.ts'
import type {
  ColumnReferences,
  NamedTable,
  QueryColumn,
  RelationShape,
  ResultColumn,
  SqlSandbox,
  UserSql,
} from '../../sql-sandbox.ts'
import type { SqlQuery } from '../../sql-syntax.ts'

import { PLANNING_BYTES, TOO_MUCH_MEMORY } from '../sandbox/planning-memory.ts'
import { duckType, structMembers } from '../session/type-mapping.ts'
import { scriptWorker, type WorkerCommand } from './worker-command.ts'
import type { WorkerRequest } from './messages.ts'
import { WorkerPool } from './worker-pool.ts'
import { RUNTIME_BYTES, type WorkerEnd, WorkerEnded } from './worker-process.ts'

export interface DuckDbSandboxOptions {
  /** Default: the script of the worker, run by the runtime of this process. */
  readonly command?: WorkerCommand
}

/** Planning is fast; a query that needs longer is probably written to block the planner. */
const LIMIT_MS = 5000
/** Type names can be longer than everything else, because types may be deeply nested. */
const REPLY_BYTES = 4 * 1_048_576
const LANES = { plan: { running: 2, runningPerOwner: 1, waiting: 200, waitingPerOwner: 50 } } as const

const REFUSALS: Readonly<Record<WorkerEnd, string>> = {
  memory: TOO_MUCH_MEMORY,
  time: 'the query takes too long to plan',
  cancelled: 'the query cannot be planned',
  crashed: 'the query cannot be planned',
  garbled: 'the query cannot be planned',
}

/** Checks user SQL in separate processes, which are killed when they need too much time or memory. */
export function createDuckDbSandbox({ command = scriptWorker() }: DuckDbSandboxOptions = {}): SqlSandbox {
  const pool = new WorkerPool({
    command,
    memoryBytes: PLANNING_BYTES,
    maxWorkers: LANES.plan.running,
  })
  return new DuckDbSandbox({ pool, slots: new FairSlots(LANES) }, undefined)
}

interface SandboxParts {
  readonly pool: WorkerPool
  readonly slots: FairSlots<'plan'>
}

class DuckDbSandbox implements SqlSandbox {
  readonly #parts: SandboxParts
  readonly #owner: string | undefined

  constructor(parts: SandboxParts, owner: string | undefined) {
    this.#parts = parts
    this.#owner = owner
  }

  async check(sql: UserSql): Promise<void> {
    await this.#call({ op: 'check', sql })
  }

  async references(sql: UserSql): Promise<ColumnReferences> {
    return (await this.#call({ op: 'references', sql })) as ColumnReferences
  }

  async tables(query: string): Promise<readonly NamedTable[]> {
    return (await this.#call({ op: 'tables', query })) as readonly NamedTable[]
  }

  async syntax(sql: UserSql): Promise<SqlQuery> {
    return (await this.#call({ op: 'syntax', sql })) as SqlQuery
  }

  async describe(relations: readonly RelationShape[], query: string): Promise<readonly ResultColumn[]> {
    return (await this.#call({ op: 'describe', relations, query })) as readonly ResultColumn[]
  }

  forOwner(owner: string): SqlSandbox {
    return new DuckDbSandbox(this.#parts, owner)
  }

  columnsOf(fields: readonly NestedField[]): readonly QueryColumn[] {
    return structMembers(fields).map(([name, field]) => ({ name, engineType: duckType(field.type) }))
  }

  close(): Promise<void> {
    return this.#parts.pool.close()
  }

  #call(request: WorkerRequest): Promise<unknown> {
    const { pool, slots } = this.#parts
    const owner = this.#owner
    return slots.run({ lane: 'plan', owner }, async () => {
      try {
        const limits = { limitMs: LIMIT_MS, replyBytes: REPLY_BYTES, residentBytes: PLANNING_BYTES + RUNTIME_BYTES }
        return await pool.use({ owner }, (worker) => worker.call(request, limits))
      } catch (error) {
        if (!(error instanceof WorkerEnded)) throw error
        throw new IcebergError('INVALID_ARGUMENT', REFUSALS[error.end], { cause: error })
      }
    })
  }
}
