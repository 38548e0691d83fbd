import type { DuckDBAppender, DuckDBDataChunk, DuckDBValue } from '@duckdb/node-api'

import type { DuckDbRun } from '../session/session.ts'

/** Rows of a chunk; DuckDB's vector size. */
const CHUNK_ROWS = 2048
/** Chunks between two checks of the caller's signal, which also let other work run. */
const CHUNKS_PER_TURN = 32

/** Fills a temporary table of a run with given rows, a chunk at a time; millions of rows per second. */
export class TableFiller {
  readonly #run: DuckDbRun
  readonly #appender: DuckDBAppender
  readonly #chunk: DuckDBDataChunk
  readonly #columns: DuckDBValue[][]
  #rows = 0
  #chunks = 0

  private constructor(run: DuckDbRun, appender: DuckDBAppender, chunk: DuckDBDataChunk) {
    this.#run = run
    this.#appender = appender
    this.#chunk = chunk
    this.#columns = Array.from({ length: appender.columnCount }, () => [])
  }

  /** Appends what `fill` adds to a table that exists. */
  static async fill(run: DuckDbRun, table: string, fill: (filler: TableFiller) => Promise<void>): Promise<void> {
    await run.guarded(async () => {
      const { DuckDBDataChunk } = await import('@duckdb/node-api')
      const appender = await run.connection.createAppender(table)
      try {
        const types = Array.from({ length: appender.columnCount }, (_, at) => appender.columnType(at))
        const filler = new TableFiller(run, appender, DuckDBDataChunk.create(types, CHUNK_ROWS))
        await fill(filler)
        filler.#flush()
      } finally {
        appender.closeSync()
      }
    })
  }

  /** Adds a row; sometimes returns a promise, which has to be awaited. */
  add(row: readonly DuckDBValue[]): Promise<void> | undefined {
    for (let at = 0; at < this.#columns.length; at += 1) this.#columns[at]?.push(row[at] ?? null)
    this.#rows += 1
    if (this.#rows < CHUNK_ROWS) return undefined
    this.#flush()
    this.#chunks += 1
    return this.#chunks % CHUNKS_PER_TURN === 0 ? this.#breathe() : undefined
  }

  #flush(): void {
    if (this.#rows === 0) return
    this.#chunk.reset()
    this.#chunk.rowCount = this.#rows
    for (const [at, values] of this.#columns.entries()) {
      this.#chunk.setColumnValues(at, values)
      values.length = 0
    }
    this.#appender.appendDataChunk(this.#chunk)
    this.#rows = 0
  }

  async #breathe(): Promise<void> {
    await new Promise((resume) => setImmediate(resume))
    this.#run.check()
  }
}
