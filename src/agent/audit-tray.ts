import type { AgentServices, ToolCallEntry } from './agent-services.ts'

/** An entry waits for others no longer than this; ms. */
const PATIENCE_MS = 500

/** Audit entries of a run on their way: they go together, so that no step waits for the disk. */
export class AuditTray {
  readonly #record: AgentServices['recordToolCalls']
  readonly #written: Promise<void>[] = []
  #waiting: ToolCallEntry[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(record: AgentServices['recordToolCalls']) {
    this.#record = record
  }

  put(entries: readonly ToolCallEntry[]): void {
    this.#waiting.push(...entries)
    this.#timer ??= setTimeout(() => this.#send(), PATIENCE_MS)
  }

  /** Resolves when everything so far is in the audit log. */
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
    written.catch(() => undefined) // told by `settled`
    this.#written.push(written)
  }
}
