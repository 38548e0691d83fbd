import { DatabaseError } from '../../storage/database-error.ts'

interface StateProblem {
  readonly code: 'NO_SPACE' | 'STATE_UNAVAILABLE'
  readonly detail: string
}

/** The meaning of a state database failure for a caller; undefined when the error is not a temporary one. */
export function stateProblem(error: unknown): StateProblem | undefined {
  if (!(error instanceof DatabaseError)) return undefined
  switch (error.code) {
    case 'FULL':
      return { code: 'NO_SPACE', detail: 'there is no space left for the state database; nothing was changed' }
    case 'BUSY':
      return { code: 'STATE_UNAVAILABLE', detail: 'the state database is locked; nothing was changed' }
    case 'READ_ONLY':
    case 'CANNOT_OPEN':
    case 'CORRUPT':
      return { code: 'STATE_UNAVAILABLE', detail: 'the state database cannot be used' }
    default:
      return undefined
  }
}
