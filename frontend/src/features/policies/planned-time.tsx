import { policies } from '../../strings/policies.ts'
import { RelativeTime, useNow } from '../../time/relative-time.tsx'

const SOON_MS = 60_000

/** The time of a planned run: “now”, or how far the time is ahead. */
export function PlannedTime({ at }: { readonly at: string }) {
  const now = useNow()
  return Date.parse(at) - now.getTime() < SOON_MS ? <>{policies.next.now}</> : <RelativeTime at={at} />
}
