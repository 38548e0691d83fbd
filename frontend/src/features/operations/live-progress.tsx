import { Progress } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { Operation } from '../../api/types.ts'
import { formatBytes, formatCount, formatDuration } from '../../strings/everywhere/units.ts'
import { operations as shared } from '../../strings/everywhere/common.ts'
import { operationName, shareDone } from './operation-words.ts'
import classes from './operations.module.css'

interface LiveProgressProps {
  readonly operation: Operation
  readonly connected: boolean
}

/** The live progress of a running operation. */
export function LiveProgress({ operation, connected }: LiveProgressProps) {
  const { progress, created_at: at } = operation
  const share = progress ? shareDone(progress) : 0
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
        <Elapsed since={at} />
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

/** The elapsed seconds; hidden from screen readers, which would announce every change. */
function Elapsed({ since }: { readonly since: string }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(1, Math.round((now - Date.parse(since)) / 1000))
  return <span aria-hidden="true">{shared.elapsed(formatDuration(seconds * 1000))}</span>
}
