import type { ManyChange } from './many-changes.ts'

/** A row that can be selected. */
export interface NamedRow {
  readonly id: string
  readonly name: string
}

/** A change that the bar offers for all selected rows. */
export interface OfferedChange<Row> extends ManyChange<Row> {
  readonly words: {
    readonly action: string
    /** Title of the confirmation, for a text such as `3 alerts`. */
    readonly title: (count: string) => string
    /** What will be true afterwards, one sentence each. */
    readonly consequences: readonly string[]
  }
  readonly isDestructive?: boolean
}
