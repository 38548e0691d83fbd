/** The demo of the first start. */
export interface Demo {
  readonly isCreating: () => boolean
  readonly create: () => Promise<void>
  /** Resolves when it is not being created (any more), however that ended. */
  readonly settled: () => Promise<void>
}

/** Runs the steps of a demo one after the other, and tells whether they run. */
export function createDemo(steps: readonly (() => Promise<void>)[]): Demo {
  let creating: Promise<void> | undefined
  const run = async (): Promise<void> => {
    try {
      for (const step of steps) await step()
    } finally {
      creating = undefined
    }
  }
  return {
    isCreating: () => creating !== undefined,
    create: () => (creating = run()),
    settled: async () => creating?.catch(() => undefined),
  }
}
