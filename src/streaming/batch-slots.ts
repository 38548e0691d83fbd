import { FairSlots } from '../engines/fair-slots.ts'

/** Whose batch it is, and whether it runs SQL that a user wrote, which may take as long as it is allowed to. */
export interface BatchTurn {
  readonly owner?: string | undefined
  readonly runsUserSql?: boolean
}

/** Lets so many pipelines work at the same time; the others wait, and users take turns. */
export interface BatchSlots {
  run<T>(work: () => Promise<T>, turn?: BatchTurn): Promise<T>
}

/**
 * Slots of a process. A pipeline with much to read goes to the end of the line after each batch. Batches with SQL of
 * users take at most half of the slots, and one user's at most one, so that they never keep the copies waiting.
 */
export function createBatchSlots(count: number): BatchSlots {
  const half = Math.max(1, Math.floor(count / 2))
  const slots = new FairSlots({ copy: { running: count }, query: { running: half, runningPerOwner: 1 } }, count)
  return {
    run: (work, { owner, runsUserSql = false } = {}) =>
      slots.run({ lane: runsUserSql ? 'query' : 'copy', owner }, work),
  }
}
