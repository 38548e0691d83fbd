import { useCallback, useMemo } from 'react'
import { useMe } from '../../api/session.ts'
import { seenOperationsKey } from '../../api/stored-keys.ts'
import { readStored, useStored, writeStored } from '../../api/stored-text.ts'

/** Operations that are remembered; the inbox does not list older ones any more. */
const MAX_SEEN = 1000

/** The operations that the signed-in user has looked at with this browser, and a function that adds some. */
export function useSeenOperations() {
  const key = seenOperationsKey(useMe()?.user ?? '')
  const text = useStored(key)
  const seen = useMemo(() => new Set(parseIds(text)), [text])
  const markSeen = useCallback(
    (ids: readonly string[]): void => {
      const known = parseIds(readStored(key))
      const next = withIds(known, ids)
      if (next !== known) writeStored(key, JSON.stringify(next))
    },
    [key],
  )
  return { seen, markSeen }
}

/** The ids in a stored text; none if this page did not write the text. */
export function parseIds(text: string | null): readonly string[] {
  try {
    const stored: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}

/** The known ids with more, at most the newest 1,000; `known` itself if nothing is new. */
export function withIds(known: readonly string[], ids: readonly string[]): readonly string[] {
  const added = [...new Set(ids)].filter((id) => !known.includes(id))
  return added.length === 0 ? known : [...known, ...added].slice(-MAX_SEEN)
}
