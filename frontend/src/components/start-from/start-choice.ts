import type { IntoBranch, StartFrom } from '../../api/types.ts'

/** The ways in which a pipeline can begin to read. */
export const START_KINDS = ['beginning', 'now', 'snapshot', 'time'] as const

export type StartKind = (typeof START_KINDS)[number]

/** Where a pipeline begins to read, as it is entered; an empty kind leaves it to the service. */
export interface StartChoice {
  readonly from: '' | StartKind
  readonly from_snapshot_id: string
  /** RFC 3339 in UTC; empty while it is not a whole time. */
  readonly from_timestamp: string
  /** The branch of the sink that gets the rows first; empty: none. */
  readonly into_branch: string
  readonly is_published: boolean
}

export const NO_START_CHOICE: StartChoice = {
  from: '',
  from_snapshot_id: '',
  from_timestamp: '',
  into_branch: '',
  is_published: true,
}

/** The branch of the request; a choice that is left to the service has none. */
export function requestedBranch({ from, into_branch: name, is_published: isPublished }: StartChoice) {
  const branch: IntoBranch = { name: name.trim(), publish: isPublished ? 'when_caught_up' : 'manual' }
  return from === '' || branch.name === '' ? undefined : branch
}

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
