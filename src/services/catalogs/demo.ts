import type { Logger } from '../logger.ts'

/** The demo of the first start. */
export interface Demo {
  readonly isCreating: () => boolean
  readonly create: () => Promise<void>
  /** Resolves when it is not being created (any more), however that ended. */
  readonly settled: () => Promise<void>
}

/** Runs the steps of a demo one after the other. A step that fails is logged, and the service runs without its part. */
export function createDemo(steps: readonly (() => Promise<void>)[], log: Logger): Demo {
  let creating: Promise<void> | undefined
  const run = async (): Promise<void> => {
    for (const step of steps) {
      try {
        await step()
      } catch (error) {
        log.error('a part of the demo was not created', { error })
      }
    }
    creating = undefined
  }
  return {
    isCreating: () => creating !== undefined,
    create: () => (creating = run()),
    settled: async () => creating,
  }
}
