import type { Engine, EngineReadiness } from './engine.ts'

export interface LazyEngineOptions {
  readonly open: () => Promise<Engine>
  /** Rejects when the engine could not be opened here; uses no memory of this process afterwards. */
  readonly checkLoad: (signal: AbortSignal) => Promise<void>
}

/**
 * An engine that is opened at its first use; a failed opening is retried at the next use. `ping` does not open it, so
 * that an unused engine takes no memory: the first one starts `checkLoad`, later ones give its outcome.
 */
export function createLazyEngine(name: string, { open, checkLoad }: LazyEngineOptions): Engine {
  let opened: Promise<Engine> | undefined
  const check = createLoadCheck(checkLoad)
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
    copyRowGroups: async (task, options) => (await engine()).copyRowGroups(task, options),
    rewritePositionDeletes: async (task, options) => (await engine()).rewritePositionDeletes(task, options),
    convertEqualityDeletes: async (task, options) => (await engine()).convertEqualityDeletes(task, options),
    openRowIndex: async (task, options) => (await engine()).openRowIndex(task, options),
    append: async (task, options) => (await engine()).append(task, options),
    appendFrom: async (task, options) => (await engine()).appendFrom(task, options),
    openRowMerge: async (task, options) => (await engine()).openRowMerge(task, options),
    countRows: async (task, options) => (await engine()).countRows(task, options),
    async *readRows(task, options) {
      yield* (await engine()).readRows(task, options)
    },
    queryRows: async (task, options) => (await engine()).queryRows(task, options),
    compareQueries: async (task, options) => (await engine()).compareQueries(task, options),
    requireWritable: async (schema) => (await engine()).requireWritable?.(schema),
    load: async () => (await opened)?.load?.(),
    ping: async () => (opened === undefined ? check.outcome() : (await opened).ping()),
    async close() {
      check.stop()
      await (await opened)?.close()
    },
  }
}

/** Runs a check once in the background, and again at the next request after a failure. */
function createLoadCheck(checkLoad: LazyEngineOptions['checkLoad']) {
  const aborter = new AbortController()
  let last: { readonly error?: unknown } | undefined
  let isRunning = false
  const run = async (): Promise<void> => {
    isRunning = true
    try {
      await checkLoad(aborter.signal)
      last = {}
    } catch (error) {
      last = { error }
    } finally {
      isRunning = false
    }
  }
  return {
    stop: () => aborter.abort(),
    async outcome(): Promise<EngineReadiness> {
      const known = last
      const isFine = known !== undefined && !('error' in known)
      if (!isFine && !isRunning) void run()
      if (known === undefined) return 'starting'
      if (!isFine) throw known.error
      return 'ready'
    },
  }
}
