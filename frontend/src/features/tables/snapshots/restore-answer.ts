import type { RecoveryPoint, RecoveryPointList } from '../../../api/types.ts'
import { common } from '../../../strings/everywhere/common.ts'
import { restore as words } from '../../../strings/tables.ts'
import { formatTime, type Zone } from '../../../time/zone.ts'

/** The state that a table had at a time, in words. */
export interface RestoreAnswer {
  readonly text: string
  readonly isRestorable: boolean
}

/** Describes the answer of the service for one time; times in the text are in `zone`. */
export function describeRestore(answer: RecoveryPointList, zone: Zone): RestoreAnswer {
  const [point] = answer.recovery_points
  const text = point === undefined ? words.none : stateText(point, zone)
  const isRestorable = point !== undefined && point.is_restorable && !point.is_current
  const isShort = isRestorable || point?.is_current === true
  return { text: isShort ? text : [text, ...earliestTexts(answer, zone)].join(' '), isRestorable }
}

function stateText(point: RecoveryPoint, zone: Zone): string {
  const { snapshot_id: id, obstacle } = point
  const snapshot = words.snapshot(id, point.operation ?? common.unknown)
  const from = formatTime(point.made_current_at, zone)
  if (point.current_until === null) return words.current(snapshot, from)
  const until = formatTime(point.current_until, zone)
  if (obstacle === 'expired') return words.expired(id, from, until)
  const state = words.state(snapshot, from, until)
  return obstacle === null ? state : `${state} ${words.notInHistory}`
}

function earliestTexts({ earliest_at: at, earlier }: RecoveryPointList, zone: Zone): readonly string[] {
  return at === null ? [words.earlier[earlier]] : [words.earliest(formatTime(at, zone)), words.earlier[earlier]]
}
