import type { DatabaseKind } from './databases.ts'

/** What is simulated at a size: in a process of its own, so that its memory is its own. */
export interface Place {
  readonly size: number
  readonly database: DatabaseKind
  readonly folder: string
}
