import { createContext, useCallback, useEffect, useState, useSyncExternalStore } from 'react'
import { healthStore, type KnownHealth } from './health-store.ts'

/** The known health of the table in this row. */
export const HealthOfRow = createContext<KnownHealth>({})

/** The known health of a table; it is requested while the component is shown. */
export function useKnownHealth(table: string): KnownHealth {
  const subscribe = useCallback((listener: () => void) => healthStore.watch(table, listener), [table])
  return useSyncExternalStore(subscribe, () => healthStore.get(table))
}

const RENEW_MS = 400

/**
 * A number that changes when more health is known, a few times a second at most, and only while `listening`; requests the
 * health of all `tables`.
 */
export function useHealthVersion(tables: readonly string[] | undefined, listening: boolean): number {
  const [version, setVersion] = useState(healthStore.version)
  useEffect(() => (tables === undefined ? undefined : healthStore.wantAll(tables)), [tables])
  useEffect(() => {
    if (!listening) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = healthStore.watchAll(() => {
      timer ??= setTimeout(() => {
        timer = undefined
        setVersion(healthStore.version)
      }, RENEW_MS)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [listening])
  return version
}
