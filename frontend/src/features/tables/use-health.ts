import { createContext, useCallback, useEffect, useState, useSyncExternalStore } from 'react'
import { healthStore, type KnownHealth } from './health-store.ts'

/** What is known of the health of the table whose row this is. */
export const HealthOfRow = createContext<KnownHealth>({})

/** What is known of a table's health; it is asked for while this is shown. */
export function useKnownHealth(table: string): KnownHealth {
  const subscribe = useCallback((listener: () => void) => healthStore.watch(table, listener), [table])
  return useSyncExternalStore(subscribe, () => healthStore.get(table))
}

const RENEW_MS = 400

/**
 * A number that changes when more becomes known, a few times a second at most, and stands still where nobody is
 * `listening`; while `tables` are given, all of them are asked for.
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
