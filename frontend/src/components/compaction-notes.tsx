import { Link } from '@tanstack/react-router'
import { operationStrings } from '../strings/operations.ts'
import { Notice } from './status/notice.tsx'
import { formatPlural } from '../strings/everywhere/units.ts'

const words = operationStrings.detail

interface CompactionNotesProps {
  readonly table: string
  /** The result of a compaction (`details_json`). */
  readonly result: unknown
}

/** Notes about a finished compaction: old files are kept until expiry, and deleted rows are no longer stored. */
export function CompactionNotes({ table, result }: CompactionNotesProps) {
  if (countOf(result, 'rewritten_data_files_count') === 0) return null
  const deleted = countOf(result, 'rows_deleted')
  return (
    <Notice tone="info">
      {deleted > 0 && <div>{words.applied(formatPlural(deleted, 'row'))}</div>}
      {words.oldFiles}{' '}
      <Link to="/tables/$table" params={{ table }} search={{ action: 'expire' }}>
        {words.expire}
      </Link>
    </Notice>
  )
}

function countOf(result: unknown, key: string): number {
  if (typeof result !== 'object' || result === null) return 0
  const value = (result as Readonly<Record<string, unknown>>)[key]
  return typeof value === 'number' ? value : 0
}
