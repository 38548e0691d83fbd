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

/** The views of a definition, in the order of their tabs; the first one is not in the address. */
export const DEFINITION_TABS = ['graph', 'environments', 'versions'] as const

export type PendingMove = BoardRow['pending'][number]

/** The least role for each move (docs/api.md#environments). */
const MOVE_ROLES: Readonly<Record<Transition, Role>> = {
  promote: 'DataEngineer',
  demote: 'LeadDataEngineer',
  retire: 'LeadDataEngineer',
}

/** A move from an environment, whether or not it is currently possible. */
export interface Move {
  readonly transition: Transition
  readonly step: Step
  /** Why it is not possible: the caller's role, or a pending request. */
  readonly blockedBy: { readonly kind: 'role'; readonly needs: Role } | PendingBlock | undefined
}

interface PendingBlock {
  readonly kind: 'pending'
  readonly request: PendingMove
}

/** The possible moves of a version from its environment. */
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

/** The gate between two columns of the board. */
export interface Gate {
  readonly from: Environment
  readonly to: Environment
  /** `open`: anyone can promote; `approval`: a lead must approve; `lead`: only a lead can promote. */
  readonly kind: 'open' | 'approval' | 'lead'
  /** Pending requests, oldest first. */
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
