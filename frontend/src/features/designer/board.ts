import {
  type Environment,
  ENVIRONMENTS,
  nextStep,
  type Step,
  type Transition,
  TRANSITIONS,
} from '../../../../src/domain/environments.ts'
import { hasRole, type Role } from '../../../../src/domain/roles.ts'
import type { BoardRow } from '../../api/types.ts'

export type PendingMove = BoardRow['pending'][number]

/** The least role for each move (spec, section 4). */
const MOVE_ROLES: Readonly<Record<Transition, Role>> = {
  promote: 'DataEngineer',
  demote: 'LeadDataEngineer',
  retire: 'LeadDataEngineer',
}

/** A move that an environment has, whether or not it can be made now. */
export interface Move {
  readonly transition: Transition
  readonly step: Step
  /** Why it cannot be made: the caller's role, or a request that waits. */
  readonly blockedBy: { readonly kind: 'role'; readonly needs: Role } | PendingBlock | undefined
}

interface PendingBlock {
  readonly kind: 'pending'
  readonly request: PendingMove
}

/** The moves that a version has from where it is. */
export function movesOf(
  { id, environment }: { readonly id: string; readonly environment: Environment },
  pending: readonly PendingMove[],
  role: Role,
): Move[] {
  const request = pending.find(({ version_id: version }) => version === id)
  return TRANSITIONS.flatMap((transition) => {
    const step = nextStep(environment, transition)
    if (!step) return []
    const needs = MOVE_ROLES[transition]
    const blockedBy = request
      ? ({ kind: 'pending', request } as const)
      : hasRole(role, needs)
        ? undefined
        : ({ kind: 'role', needs } as const)
    return [{ transition, step, blockedBy }]
  })
}

/** What stands between two columns of the board. */
export interface Gate {
  readonly from: Environment
  readonly to: Environment
  /** `open`: versions go through at once; `approval`: when a lead approves; `lead`: when a lead does it. */
  readonly kind: 'open' | 'approval' | 'lead'
  /** Requests that wait at it, oldest first. */
  readonly waiting: readonly PendingMove[]
}

/** The gates between the columns, in their order. */
export function gatesOf(pending: readonly PendingMove[]): Gate[] {
  return ENVIRONMENTS.slice(0, -1).map((from, at) => {
    const to = ENVIRONMENTS[at + 1] ?? 'retired'
    const step = nextStep(from, 'promote')
    const kind = step?.to === to ? (step.kind === 'approval' ? 'approval' : 'open') : 'lead'
    return { from, to, kind, waiting: pending.filter((request) => request.to_environment === to) }
  })
}

/** The versions of a definition that keep it from being changed or deleted: the newest of each such environment. */
export function lockingEnvironments(environments: BoardRow['environments']): Environment[] {
  return (['uat', 'production', 'retired'] as const).filter((environment) => environments[environment] !== undefined)
}
