import { StatusDot } from '../../components/status-dot.tsx'
import { Note } from '../../components/note.tsx'
import { useNow } from '../../time/relative-time.tsx'
import { formatRelative } from '../../components/units.ts'
import { pipelines as words } from '../../strings/pipelines.ts'
import type { Connection } from './monitor-store.ts'

/** Whether the page gets live updates, as a dot and a word; it says nothing about the state of a pipeline. */
export function LiveDot({ connection }: { readonly connection: Connection }) {
  if (connection.kind === 'live') return <StatusDot tone="idle" label={words.live.live} />
  if (connection.kind === 'connecting') return <StatusDot tone="idle" label={words.live.connecting} />
  return <StatusDot tone="warn" label={words.live.notLive} />
}

/** Says that the figures are old, and since when; nothing while they are live. */
export function NotLiveNote({ connection }: { readonly connection: Connection }) {
  const now = useNow()
  if (connection.kind !== 'lost') return null
  const since = formatRelative(new Date(connection.since), now)
  return (
    <Note tone="warn" live="status" title={words.live.notLive}>
      {words.live.notLiveText(since)}
    </Note>
  )
}
