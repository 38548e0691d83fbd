import { Link } from '@tanstack/react-router'
import { operationStrings } from '../strings/operations.ts'
import { Notice } from './notice.tsx'
import { formatPlural } from './units.ts'

const words = operationStrings.detail

interface CompactionAftermathProps {
  readonly table: string
  /** What the ledger keeps of a compaction (`details_json`). */
  readonly result: unknown
}

/** What a finished compaction leaves behind: old files until expiry, and fewer stored rows when it applied deletes. */
export function CompactionAftermath({ table, result }: CompactionAftermathProps) {
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
