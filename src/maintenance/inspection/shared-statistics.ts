import { createKeyedLock } from '../../lib/keyed-lock.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import { readColumnStatistics, type TableStatistics } from './column-statistics.ts'

/** Reads the column statistics of a table; errors of `readColumnStatistics`. */
export type ReadStatistics = (table: Table, signal: AbortSignal) => Promise<TableStatistics>

interface Run {
  readonly result: Promise<TableStatistics>
  readonly stop: AbortController
  callers: number
}

/**
 * A reader of statistics that runs once at a time. Calls for the same state of a table share one run, which is cancelled when
 * the last of them is.
 */
export function createSharedStatistics(read: ReadStatistics = readColumnStatistics): ReadStatistics {
  const runs = new Map<string, Run>()
  const lock = createKeyedLock()
  const forget = ({ metadataLocation }: Table, run: Run): void => {
    if (runs.get(metadataLocation) === run) runs.delete(metadataLocation)
  }
  const start = (table: Table): Run => {
    const stop = new AbortController()
    const result = lock.run('statistics', stop.signal, () => read(table, stop.signal))
    const run = { result, stop, callers: 0 }
    runs.set(table.metadataLocation, run)
    const end = (): void => forget(table, run)
    result.then(end, end)
    return run
  }
  return (table, signal) => {
    throwIfCancelled(signal, 'adding up statistics')
    const run = runs.get(table.metadataLocation) ?? start(table)
    run.callers += 1
    const leave = (): void => {
      run.callers -= 1
      if (run.callers > 0) return
      forget(table, run) // a later call begins again
      run.stop.abort()
    }
    signal.addEventListener('abort', leave, { once: true })
    return run.result.finally(() => signal.removeEventListener('abort', leave))
  }
}
