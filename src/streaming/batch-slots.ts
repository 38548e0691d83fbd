/** Lets so many pipelines work at the same time; the others wait in the order in which they came. */
export interface BatchSlots {
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Slots of a process. A pipeline with much to read goes to the end of the line after each batch. */
export function createBatchSlots(count: number): BatchSlots {
  let free = count
  const waiting: (() => void)[] = []
  return {
    async run(work) {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else free += 1
      }
    },
  }
}
