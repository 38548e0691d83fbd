import type { Engine } from './engine.ts'

/**
 * An engine that is opened at its first use; a failed opening is retried at the next use. `ping` opens nothing: an
 * unused engine counts as healthy, and a new process answers its first health check at once.
 */
export function createLazyEngine(name: string, open: () => Promise<Engine>): Engine {
  let opened: Promise<Engine> | undefined
  const engine = (): Promise<Engine> => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  return {
    name,
    rewrite: async (task, options) => (await engine()).rewrite(task, options),
    append: async (task, options) => (await engine()).append(task, options),
    appendFrom: async (task, options) => (await engine()).appendFrom(task, options),
    countRows: async (task, options) => (await engine()).countRows(task, options),
    async *readRows(task, options) {
      yield* (await engine()).readRows(task, options)
    },
    queryRows: async (task, options) => (await engine()).queryRows(task, options),
    compareQueries: async (task, options) => (await engine()).compareQueries(task, options),
    requireWritable: async (schema) => (await engine()).requireWritable?.(schema),
    load: async () => (await opened)?.load?.(),
    ping: async () => (await opened)?.ping(),
    close: async () => (await opened)?.close(),
  }
}
