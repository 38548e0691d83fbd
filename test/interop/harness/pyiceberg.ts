import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { PYTHON, REPOSITORY } from './environment.ts'
import type { CatalogSettings } from './service.ts'

/** A row of a table that `pyiceberg_changes.py` created. */
export interface Row {
  readonly id: number
  readonly part: number | null
  readonly name?: string | null
  readonly title?: string | null
  readonly note?: string | null
}

/** A table after a command. */
export interface TableAnswer {
  readonly rows: readonly Row[]
  /** For each snapshot, oldest first. */
  readonly operations: readonly string[]
}

/** PyIceberg in a separate process; runs the commands described in `pyiceberg_changes.py`, one at a time. */
export class PyIceberg {
  readonly #child
  readonly #answers: AsyncIterator<string>

  /** `properties` are the ones PyIceberg needs for the files, if they are in an object store. */
  constructor(
    { uri, warehouse, catalog_name: name }: CatalogSettings,
    properties: Readonly<Record<string, string>> = {},
  ) {
    const script = `${REPOSITORY}/test/interop/python/pyiceberg_changes.py`
    const options = JSON.stringify({ uri, warehouse, name, properties })
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
    this.#child = spawn(PYTHON ?? 'python3', [script, options], { stdio: ['pipe', 'pipe', 'inherit'], env })
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async change(table: string, how: string, options: object = {}): Promise<TableAnswer> {
    this.#child.stdin.write(`${JSON.stringify({ table, do: how, ...options })}\n`)
    const line = await this.#answers.next()
    if (line.done === true) throw new Error('PyIceberg ended')
    const answer = JSON.parse(line.value) as TableAnswer & { error?: string }
    if (answer.error !== undefined) throw new Error(`PyIceberg, ${how} of ${table}: ${answer.error}`)
    return answer
  }

  stop(): void {
    this.#child.stdin.end()
  }
}
