import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'

import { IcebergError } from '../../../iceberg/errors.ts'
import { parseJson } from '../../../iceberg/json/lossless-json.ts'
import type {
  ColumnReferences,
  NamedTable,
  RelationShape,
  ResultColumn,
  SqlSandbox,
  UserSql,
} from '../../sql-sandbox.ts'
import type { SqlQuery } from '../../sql-syntax.ts'

import { isFatal } from '../session/errors.ts'
import { textOf } from '../session/result-values.ts'
import { lockStatements, type SandboxBounds, sandboxSettings, spillStatements } from '../session/sandbox-settings.ts'
import { REPLACED_SPACES } from '../session/replaced-spaces.ts'
import { PLANNING_BYTES, TOO_MUCH_MEMORY } from './planning-memory.ts'
import { referencesIn } from './sql-references.ts'
import { tablesIn } from './sql-tables.ts'
import { syntaxOf } from './read-syntax.ts'
import { quoteName } from '../session/sql-text.ts'
import { requireHarmless } from './user-sql.ts'

const BOUNDS: SandboxBounds = { memoryLimitBytes: PLANNING_BYTES, threads: 1, spillBytes: 0 }
const MAX_TEXT = 20_000

/** The part of a `SqlSandbox` that needs the engine. */
export type LocalSandbox = Pick<SqlSandbox, 'check' | 'references' | 'tables' | 'syntax' | 'describe'>

/**
 * Checks user SQL with DuckDB's own parser and planner, in a database without files and with locked settings.
 * Only for a process that can be killed, because planning may use all its memory or never end.
 */
export function createLocalSandbox(): LocalSandbox {
  return new DuckDbPlanner()
}

class DuckDbPlanner implements LocalSandbox {
  #instance: Promise<DuckDBInstance> | undefined

  async check(sql: UserSql): Promise<void> {
    await this.#parse(sql)
  }

  async references(sql: UserSql): Promise<ColumnReferences> {
    return referencesIn((await this.#parse(sql)).tree)
  }

  async tables(query: string): Promise<readonly NamedTable[]> {
    return tablesIn(query, JSON.parse(await this.#serialize({ kind: 'query', text: query })))
  }

  async syntax(sql: UserSql): Promise<SqlQuery> {
    return syntaxOf(parseJson((await this.#parse(sql)).json))
  }

  /** The syntax tree of an allowed text, and its JSON, which has exact integers. */
  async #parse(sql: UserSql): Promise<{ readonly json: string; readonly tree: unknown }> {
    const json = await this.#serialize(sql)
    const tree: unknown = JSON.parse(json)
    requireHarmless(sql, tree)
    return { json, tree }
  }

  /** The syntax tree of any text, as JSON. */
  #serialize(sql: Pick<UserSql, 'kind' | 'text'>): Promise<string> {
    if (sql.text.length > MAX_TEXT) throw refusal(`the text has more than ${MAX_TEXT} characters`)
    if (sql.text.includes('\0')) throw refusal('the text has a NUL character')
    const [space] = REPLACED_SPACES.exec(sql.text) ?? []
    if (space !== undefined) {
      const code = space.codePointAt(0) ?? 0
      throw refusal(`the text has the invisible character ${code}: write a plain space, or chr(${code}) in a string`)
    }
    const text = sql.kind === 'expression' ? `SELECT (\n${sql.text}\n)` : sql.text
    return this.#use(async (connection) => {
      const statement = await connection.prepare('SELECT json_serialize_sql(?::VARCHAR) AS tree')
      statement.bindVarchar(1, text)
      const [row] = (await statement.runAndReadAll()).getRowObjectsJS()
      return textOf(row?.['tree'])
    })
  }

  describe(relations: readonly RelationShape[], query: string): Promise<readonly ResultColumn[]> {
    return this.#use(async (connection) => {
      const { icebergType } = await import('../session/result-types.ts') // it loads the engine
      for (const { name, columns } of relations) {
        const list = columns.map((column) => `NULL::${column.engineType} AS ${quoteName(column.name)}`)
        await connection.run(`CREATE TEMP VIEW ${quoteName(name)} AS SELECT ${list.join(', ')} WHERE false`)
      }
      const statement = await connection.prepare(query)
      return Array.from({ length: statement.columnCount }, (_, at) => {
        const type = statement.columnType(at)
        return { name: statement.columnName(at), engineType: type.toString(), type: icebergType(type) }
      })
    })
  }

  /** Runs work on a separate connection; errors about the text become refusals. */
  async #use<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const instance = await (this.#instance ??= openSandbox())
    const connection = await instance.connect()
    try {
      return await work(connection)
    } catch (error) {
      if (isFatal(error)) this.#instance = undefined
      throw refusal(readable(error), error)
    } finally {
      connection.closeSync()
    }
  }
}

async function openSandbox(): Promise<DuckDBInstance> {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(':memory:', sandboxSettings(BOUNDS))
  const connection = await instance.connect()
  // the optimizer evaluates constants, which planning does not need
  const statements = ['PRAGMA disable_optimizer', ...spillStatements(BOUNDS, undefined), ...lockStatements(undefined)]
  for (const statement of statements) await connection.run(statement)
  connection.closeSync()
  return instance
}

/** The beginning of the engine's message: what is wrong, without the quoted text. */
function readable(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  if (/^Out of Memory|bad_alloc|bad allocation/i.test(text)) return TOO_MUCH_MEMORY
  return (text.split('\n\nLINE ')[0] ?? text).replaceAll(/\s+/g, ' ').trim().slice(0, 400)
}

function refusal(why: string, cause?: unknown): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', why, cause === undefined ? undefined : { cause })
}
