import { Progress } from '@mantine/core'
import type { Operation } from '../../api/types.ts'
import { useNow } from '../../components/relative-time.tsx'
import { formatBytes, formatCount, formatDuration } from '../../components/units.ts'
import { operations as shared } from '../../strings/common.ts'
import { operationName, shareDone } from './operation-words.ts'
import classes from './operations.module.css'

interface LiveProgressProps {
  readonly operation: Operation
  readonly connected: boolean
}

/** How far a running operation is, as it tells. */
export function LiveProgress({ operation, connected }: LiveProgressProps) {
  const now = useNow()
  const { progress, created_at: at } = operation
  const share = progress ? shareDone(progress) : 0
  const elapsed = Math.max(0, now.getTime() - Date.parse(at))
  return (
    <div className={classes.progress}>
      <Progress.Root size="md">
        <Progress.Section
          value={share * 100}
          aria-label={shared.progress(operationName(operation.operation))}
          animated={share === 0 || share === 1}
        />
      </Progress.Root>
      <div className={classes.progressLine} role="status">
        <span>{connected ? progressText(progress) : shared.reconnecting}</span>
        <span aria-hidden="true">{shared.elapsed(formatDuration(elapsed))}</span>
      </div>
    </div>
  )
}

function progressText(progress: Operation['progress']): string {
  if (!progress || progress.files_total === 0) return shared.starting
  if (progress.files_done >= progress.files_total) return shared.committing
  const files = shared.filesDone(formatCount(progress.files_done), formatCount(progress.files_total))
  return `${files}, ${shared.bytesDone(formatBytes(progress.bytes_done), formatBytes(progress.bytes_total))}`
}
