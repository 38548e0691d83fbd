import type { Engine } from '../../../engines/engine.ts'
import type { Tracing } from './tracing.ts'

/** The same engine, each run of which is a span. */
export function tracedEngine(engine: Engine, tracing: Tracing): Engine {
  const traced = <T>(name: string, work: () => Promise<T>): Promise<T> => tracing.span({ name: `engine ${name}` }, work)
  return {
    ...engine,
    rewrite: (task, options) => traced('rewrite', () => engine.rewrite(task, options)),
    openRowIndex: (task, options) => traced('open_row_index', () => engine.openRowIndex(task, options)),
    append: (task, options) => traced('append', () => engine.append(task, options)),
    appendFrom: (task, options) => traced('append_from', () => engine.appendFrom(task, options)),
    openRowMerge: (task, options) => traced('open_row_merge', () => engine.openRowMerge(task, options)),
    countRows: (task, options) => traced('count_rows', () => engine.countRows(task, options)),
    queryRows: (task, options) => traced('query_rows', () => engine.queryRows(task, options)),
    compareQueries: (task, options) => traced('compare_queries', () => engine.compareQueries(task, options)),
  }
}
