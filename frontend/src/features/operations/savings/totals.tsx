import type { SavingsFigures } from '../../../api/types.ts'
import { Figure, FigureRow } from '../../../components/status/figure.tsx'
import { formatBytes, formatCount, formatDuration, formatMilliseconds } from '../../../strings/everywhere/units.ts'
import { savings as words } from '../../../strings/savings.ts'

/** The measured sums of some operations; `isShort` leaves out the details. */
export function SavingsTotals({
  sums,
  isShort = false,
}: {
  readonly sums: SavingsFigures
  readonly isShort?: boolean
}) {
  const { figures, hints, change } = words
  const requests = sums.scan_requests_saved
  return (
    <FigureRow>
      <Figure label={figures.files} value={change(formatCount(sums.files_before), formatCount(sums.files_after))} />
      {!isShort && (
        <Figure label={figures.bytes} value={change(formatBytes(sums.bytes_before), formatBytes(sums.bytes_after))} />
      )}
      <Figure
        label={figures.requests}
        value={formatCount(Math.abs(requests))}
        hint={requests < 0 ? hints.moreRequests : hints.requests}
      />
      {!isShort && <Figure label={figures.planning} value={formatMilliseconds(sums.planning_saved_ms)} />}
      {!isShort && <Figure label={figures.deleted} value={formatCount(sums.files_deleted)} />}
      <Figure
        label={figures.freed}
        value={formatBytes(sums.storage_freed_bytes)}
        hint={sums.quarantined_bytes > 0 && hints.held(formatBytes(sums.quarantined_bytes))}
      />
      <Figure
        label={figures.added}
        value={formatBytes(sums.storage_added_bytes)}
        hint={sums.storage_added_bytes > 0 && hints.added}
      />
      <Figure label={figures.time} value={formatDuration(sums.duration_ms)} />
      {!isShort && (
        <Figure
          label={figures.runs}
          value={formatCount(sums.operations)}
          hint={sums.failed > 0 && hints.failed(sums.failed)}
        />
      )}
    </FigureRow>
  )
}
