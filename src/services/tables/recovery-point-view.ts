import { DomainError } from '../../domain/errors.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { findStateAt } from '../../iceberg/metadata/branch-states.ts'
import { mainBranch } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import {
  EARLIER_REASONS,
  listRecoveryPoints,
  type RecoveryPoint,
} from '../../maintenance/inspection/recovery-points.ts'
import type { recoveryPointList } from '../../schemas/tables/recovery-points.ts'
import type { Wire } from '../../schemas/wire.ts'
import { pageOfList, type PageQuery } from '../paging/paging.ts'

type RecoveryPointList = Wire<typeof recoveryPointList>

/** Which recovery points of a table are listed. */
export interface RecoveryPointQuery extends PageQuery {
  /** Default: `main`. */
  readonly branch?: string | undefined
  /** Only the state at this time (RFC 3339). */
  readonly at?: string | undefined
}

/** A page of the states that a branch had, newest first. `UNPROCESSABLE` for an unknown branch. */
export function describeRecoveryPoints(
  name: string,
  { metadata, metadataLocation }: Table,
  { branch = mainBranch, at, ...page }: RecoveryPointQuery,
): RecoveryPointList {
  requireBranch(metadata, branch)
  const { points, earliest, earlier } = listRecoveryPoints(metadata, branch)
  const found = at === undefined ? points : pointsAt(points, Date.parse(at))
  const { items, next_page_token } = pageOfList(found, page, `${metadataLocation} ${branch} ${at ?? ''}`)
  return {
    success: true,
    table: name,
    branch,
    earliest_at: earliest === undefined ? null : timeText(earliest.fromMs),
    earlier,
    earlier_reason: EARLIER_REASONS[earlier],
    recovery_points: items.map(describePoint),
    next_page_token,
  }
}

function requireBranch({ refs }: TableMetadata, branch: string): void {
  if (branch === mainBranch) return // an empty table has no main yet
  const ref = Object.hasOwn(refs, branch) ? refs[branch] : undefined
  if (ref?.type === 'branch') return
  const message = ref === undefined ? `names no branch of the table: ${branch}` : `names a tag, not a branch: ${branch}`
  throw new DomainError('UNPROCESSABLE', `branch ${message}`, { fields: [{ path: 'branch', message }] })
}

function pointsAt(points: readonly RecoveryPoint[], timestampMs: number): readonly RecoveryPoint[] {
  const found = findStateAt(points.toReversed(), timestampMs)
  return found === undefined ? [] : [found]
}

function describePoint(point: RecoveryPoint): RecoveryPointList['recovery_points'][number] {
  const { snapshotId, fromMs, untilMs, snapshot, isCurrent, obstacle } = point
  return {
    snapshot_id: snapshotId.toString(),
    made_current_at: timeText(fromMs),
    current_until: untilMs === undefined ? null : timeText(untilMs),
    operation: snapshot?.summary['operation'] ?? null,
    summary: snapshot?.summary ?? {},
    is_current: isCurrent,
    is_readable: snapshot !== undefined,
    is_restorable: obstacle === undefined,
    obstacle: obstacle ?? null,
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
