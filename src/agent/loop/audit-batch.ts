import type { RecordToolCalls, ToolCallEntry } from '../tools/record-tool-calls.ts'

/** How long an entry may wait before it is written. */
const MAX_WAIT_MS = 500

/** Collects the audit entries of a run and writes them in batches, so that no step waits for the disk. */
export class AuditBatch {
  readonly #record: RecordToolCalls
  readonly #written: Promise<void>[] = []
  #waiting: ToolCallEntry[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(record: RecordToolCalls) {
    this.#record = record
  }

  put(entries: readonly ToolCallEntry[]): void {
    this.#waiting.push(...entries)
    this.#timer ??= setTimeout(() => this.#send(), MAX_WAIT_MS)
  }

  /** Resolves when all entries so far are in the audit log. Rejects when one could not be written. */
  async settled(): Promise<void> {
    this.#send()
    await Promise.all(this.#written)
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting.length === 0) return
    const written = this.#record(this.#waiting)
    this.#waiting = []
    written.catch(() => undefined) // `settled` throws it
    this.#written.push(written)
  }
}
