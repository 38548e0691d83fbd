import { EMPTY_CHAIN } from '../../storage/audit-chain.ts'
import type { AuditFilter, AuditStore } from '../../storage/stores/audit-store.ts'

/** Which entries to export: all after a number, within times. */
export interface ExportRange extends Pick<AuditFilter, 'from' | 'to'> {
  /** Default: from the first entry. */
  readonly afterSeq?: number | undefined
}

/** Entries in memory at a time. */
const ROWS_AT_ONCE = 1000

/**
 * The audit log as JSON lines, oldest first, up to its end at the first read. Reads only as fast as the client does, and
 * fails when the caller loses access. The last line has `end`, so that a cut-off export shows.
 */
export function exportAudit(
  store: Pick<AuditStore, 'after' | 'head'>,
  { afterSeq, ...filter }: ExportRange,
  isAllowed: () => Promise<boolean>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const lines = (values: readonly object[]): Uint8Array =>
    encoder.encode(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  let head: { readonly seq: number; readonly hash: string } | undefined
  let seen = afterSeq ?? 0
  let entries = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!(await isAllowed())) throw new Error('the caller may no longer read the audit log')
        head ??= (await store.head()) ?? EMPTY_CHAIN
        const { seq: last, hash } = head
        const rows = (await store.after(seen, ROWS_AT_ONCE, filter)).filter(({ seq }) => seq <= last)
        seen = rows.at(-1)?.seq ?? seen
        entries += rows.length
        if (rows.length > 0) controller.enqueue(lines(rows))
        if (rows.length === ROWS_AT_ONCE) return
        controller.enqueue(lines([{ end: true, entries, last_seq: seen, head: { seq: last, hash } }]))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}
