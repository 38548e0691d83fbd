import { useCallback, useSyncExternalStore } from 'react'
import { historyStore, type KnownHistory } from './store.ts'

/** The known health history of a table; it is requested while the component is shown. */
export function useKnownHistory(table: string): KnownHistory {
  const subscribe = useCallback((listener: () => void) => historyStore.watch(table, listener), [table])
  return useSyncExternalStore(subscribe, () => historyStore.get(table))
}
