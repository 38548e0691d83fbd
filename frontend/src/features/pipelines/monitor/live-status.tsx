import { StatusDot } from '../../../components/status/status-dot.tsx'
import { Note } from '../../../components/status/note.tsx'
import { useNow } from '../../../time/relative-time.tsx'
import { formatRelative } from '../../../strings/everywhere/units.ts'
import { pipelines as words } from '../../../strings/pipelines/pipelines.ts'
import type { Connection } from './store.ts'

/** Shows whether the page gets live updates; not the state of a pipeline. */
export function LiveDot({ connection }: { readonly connection: Connection }) {
  if (connection.kind === 'live') return <StatusDot tone="idle" label={words.live.live} />
  if (connection.kind === 'connecting') return <StatusDot tone="idle" label={words.live.connecting} />
  return <StatusDot tone="warn" label={words.live.notLive} />
}

/** Shows since when the figures are out of date; nothing while they are live. */
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
