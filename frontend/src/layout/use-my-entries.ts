import { hasRole } from '../../../src/domain/roles.ts'
import { useMe } from '../api/session.ts'
import type { NavEntry } from '../navigation.ts'

/** The entries that are available and allowed for the caller's role; `entries` must be the same on every call. */
export function useMyEntries(entries: readonly NavEntry[]): readonly NavEntry[] {
  const me = useMe()
  // oxlint-disable-next-line react/rules-of-hooks -- the same hooks in the same order: the entries never change
  const shown = entries.map(({ useShown = always }) => useShown())
  return entries.filter(
    ({ minRole = 'Auditor' }, index) => shown[index] === true && me !== undefined && hasRole(me.role, minRole),
  )
}

const always = (): boolean => true
