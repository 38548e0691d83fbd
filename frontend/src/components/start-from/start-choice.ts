import type { StartFrom } from '../../api/types.ts'

/** The ways in which a pipeline can begin to read. */
export const START_KINDS = ['beginning', 'now', 'snapshot', 'time'] as const

export type StartKind = (typeof START_KINDS)[number]

/** Where a pipeline begins to read, as it is entered; an empty kind leaves it to the service. */
export interface StartChoice {
  readonly from: '' | StartKind
  readonly from_snapshot_id: string
  /** RFC 3339 in UTC; empty while it is not a whole time. */
  readonly from_timestamp: string
}

export const NO_START_CHOICE: StartChoice = { from: '', from_snapshot_id: '', from_timestamp: '' }

/** The value of the request; undefined when nothing is chosen, `incomplete` when a field is missing. */
export function requestedStart(choice: StartChoice): StartFrom | 'incomplete' | undefined {
  switch (choice.from) {
    case '':
      return undefined
    case 'snapshot': {
      const id = choice.from_snapshot_id.trim()
      return /^\d{1,19}$/.test(id) ? { snapshot_id: id } : 'incomplete'
    }
    case 'time':
      return choice.from_timestamp === '' ? 'incomplete' : { timestamp: choice.from_timestamp }
    default:
      return choice.from
  }
}
