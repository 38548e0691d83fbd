import type { Engine } from './engine.ts'
import type { EngineRunOptions } from './run-options.ts'

/** The engine as one user works with it; see `EngineRunOptions.owner`. */
export function ownedEngine(engine: Engine, owner: string): Engine {
  const owned = (options: EngineRunOptions = {}): EngineRunOptions => ({ owner, ...options })
  return {
    name: engine.name,
    rewrite: (task, options) => engine.rewrite(task, owned(options)),
    copyRowGroups: (task, options) => engine.copyRowGroups(task, owned(options)),
    rewritePositionDeletes: (task, options) => engine.rewritePositionDeletes(task, owned(options)),
    convertEqualityDeletes: (task, options) => engine.convertEqualityDeletes(task, owned(options)),
    openRowIndex: (task, options) => engine.openRowIndex(task, owned(options)),
    append: (task, options) => engine.append(task, owned(options)),
    appendFrom: (task, options) => engine.appendFrom(task, owned(options)),
    openRowMerge: async (task, options) => {
      const merge = await engine.openRowMerge(task, owned(options))
      return {
        rows: merge.rows,
        mergeInto: (target, more) => merge.mergeInto(target, owned(more)),
        close: () => merge.close(),
      }
    },
    readRows: (task, options) => engine.readRows(task, owned(options)),
    countRows: (task, options) => engine.countRows(task, owned(options)),
    queryRows: (task, options) => engine.queryRows(task, owned(options)),
    compareQueries: (task, options) => engine.compareQueries(task, owned(options)),
    requireWritable: async (schema) => engine.requireWritable?.(schema),
    ping: () => engine.ping(),
    close: () => engine.close(),
  }
}
