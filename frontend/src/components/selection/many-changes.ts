import { ApiError } from '../../api/api-error.ts'
import { Limiter } from '../../api/limiter.ts'
import { errorText } from '../status/states.tsx'

/** One change of many rows. */
export interface ManyChange<Row> {
  /** Why a row is left out, such as `Already active`; undefined: the row is changed. */
  readonly leftOut: (row: Row) => string | undefined
  readonly apply: (row: Row) => Promise<unknown>
}

/** A row of a change of many, and how far it is. */
export type ChangedRow<Row> = { readonly row: Row } & (
  | { readonly step: 'planned' | 'waiting' | 'done' }
  | { readonly step: 'left-out' | 'failed'; readonly reason: string }
)

const AT_ONCE = 4

/** Changes many rows, each by a request of its own: a failure of one does not stop the others. */
export class ManyChanges<Row> {
  readonly #change: ManyChange<Row>
  readonly #limiter = new Limiter(AT_ONCE)
  readonly #listeners = new Set<() => void>()
  #rows: readonly ChangedRow<Row>[]

  constructor(rows: readonly Row[], change: ManyChange<Row>) {
    this.#change = change
    this.#rows = rows.map((row) => {
      const reason = change.leftOut(row)
      return reason === undefined ? { row, step: 'planned' } : { row, step: 'left-out', reason }
    })
  }

  /** The rows in their order; a new array with each change. */
  readonly rows = (): readonly ChangedRow<Row>[] => this.#rows

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Sends each planned change once, a few at a time; resolves when all have an outcome. */
  async apply(): Promise<void> {
    const planned = this.#rows.filter(({ step }) => step === 'planned')
    for (const { row } of planned) this.#set({ row, step: 'waiting' })
    const { signal } = new AbortController()
    await Promise.all(planned.map(({ row }) => this.#limiter.run(() => this.#applyOne(row), signal)))
  }

  async #applyOne(row: Row): Promise<void> {
    try {
      await this.#change.apply(row)
      this.#set({ row, step: 'done' })
    } catch (error) {
      this.#set({ row, step: 'failed', reason: error instanceof ApiError ? error.detail : errorText(error) })
    }
  }

  #set(changed: ChangedRow<Row>): void {
    this.#rows = this.#rows.map((one) => (one.row === changed.row ? changed : one))
    for (const listener of this.#listeners) listener()
  }
}
