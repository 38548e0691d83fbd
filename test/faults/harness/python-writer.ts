import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { PYTHON, REPOSITORY } from '../../interop/harness/environment.ts'
import type { Lakehouse } from '../../interop/harness/lakehouse.ts'

/** PyIceberg in a separate process, which keeps running when the service ends; one append at a time. */
export class PythonWriter {
  readonly #child
  readonly #answers: AsyncIterator<string>

  /** `properties`: more settings of PyIceberg's catalog. */
  constructor({ settings }: Pick<Lakehouse, 'settings'>, table: string, properties: Record<string, string> = {}) {
    const { uri, warehouse, catalog_name: name } = settings
    const options = { uri, warehouse, name, table, properties }
    const script = `${REPOSITORY}/test/interop/python/pyiceberg_writer.py`
    this.#child = spawn(PYTHON ?? 'python3', [script, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** Commits rows with ids from `first` on, to another table if one is given. */
  async append(first: number, count: number, table?: string): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify({ first, count, ...(table === undefined ? {} : { table }) })}\n`)
    if ((await this.#answers.next()).done === true) throw new Error('the writer ended')
  }

  stop(): void {
    this.#child.stdin.end()
  }
}
