import { DatabaseError } from '../storage/database-error.ts'

interface StateProblem {
  readonly code: 'NO_SPACE' | 'STATE_UNAVAILABLE'
  readonly detail: string
}

/** What a failure of the state database means to a caller; undefined when the error is none that may pass. */
export function stateProblem(error: unknown): StateProblem | undefined {
  if (!(error instanceof DatabaseError)) return undefined
  switch (error.code) {
    case 'FULL':
      return { code: 'NO_SPACE', detail: 'there is no space left for the state of the service; nothing was changed' }
    case 'BUSY':
      return { code: 'STATE_UNAVAILABLE', detail: 'the state of the service is locked; nothing was changed' }
    case 'READ_ONLY':
    case 'CANNOT_OPEN':
    case 'CORRUPT':
      return { code: 'STATE_UNAVAILABLE', detail: 'the state of the service cannot be used' }
    default:
      return undefined
  }
}
