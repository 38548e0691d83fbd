import { FairSlots } from '../../engines/fair-slots.ts'

/** The owner of a batch, and whether it runs user-written SQL, which may take up to its time limit. */
export interface BatchTurn {
  readonly owner?: string | undefined
  readonly runsUserSql?: boolean
}

/** Limits how many pipelines work at the same time; the others wait, and users take turns. */
export interface BatchSlots {
  run<T>(work: () => Promise<T>, turn?: BatchTurn): Promise<T>
}

/**
 * Slots of a process. A pipeline with more to read goes to the end of the queue after each batch. Batches with
 * user-written SQL use at most half of the slots, and each user at most one, so that they never block copy pipelines.
 */
export function createBatchSlots(count: number): BatchSlots {
  const half = Math.max(1, Math.floor(count / 2))
  const slots = new FairSlots({ copy: { running: count }, query: { running: half, runningPerOwner: 1 } }, count)
  return {
    run: (work, { owner, runsUserSql = false } = {}) =>
      slots.run({ lane: runsUserSql ? 'query' : 'copy', owner }, work),
  }
}
