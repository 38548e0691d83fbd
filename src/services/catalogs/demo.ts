/** The demo of the first start. */
export interface Demo {
  readonly isCreating: () => boolean
  readonly create: () => Promise<void>
}

/** Runs the steps of a demo one after the other, and tells whether they run. */
export function createDemo(steps: readonly (() => Promise<void>)[]): Demo {
  let isCreating = false
  return {
    isCreating: () => isCreating,
    async create() {
      isCreating = true
      try {
        for (const step of steps) await step()
      } finally {
        isCreating = false
      }
    },
  }
}
