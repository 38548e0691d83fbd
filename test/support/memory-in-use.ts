import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of the objects that are still used, outside of the heap too: long texts are there on Node. */
export async function memoryInUse(): Promise<number> {
  for (let round = 0; round < 2; round++) {
    collectGarbage()
    // the runtimes release some memory only after the current task
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function collectGarbage(): void {
  if ('Bun' in globalThis) {
    Bun.gc(true)
    return
  }
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
}
