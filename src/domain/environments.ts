import type { Role } from './roles.ts'

/** The environments of a pipeline version (docs/api.md#environments). */
export const ENVIRONMENTS = ['development', 'qa', 'uat', 'production', 'retired'] as const

export type Environment = (typeof ENVIRONMENTS)[number]

/** The environments in which versions run. */
export const RUN_ENVIRONMENTS = ['development', 'qa', 'uat', 'production'] as const satisfies readonly Environment[]

export type RunEnvironment = (typeof RUN_ENVIRONMENTS)[number]

const MIN_ROLES: Readonly<Record<RunEnvironment, Role>> = {
  development: 'DataEngineer',
  qa: 'DataEngineer',
  uat: 'LeadDataEngineer',
  production: 'LeadDataEngineer',
}

/** The minimum role to start, deploy or prepare versions in an environment. */
export function minRoleIn(environment: RunEnvironment): Role {
  return MIN_ROLES[environment]
}

/** What moves a version from one environment to another. */
export const TRANSITIONS = ['promote', 'demote', 'retire'] as const

export type Transition = (typeof TRANSITIONS)[number]

/** A transition that takes effect at once. */
export interface DirectStep {
  readonly kind: 'direct'
  readonly to: Environment
}

/** How a transition takes effect: at once, or when an approval request is approved. */
export type Step = DirectStep | { readonly kind: 'approval'; readonly to: Environment }

/** All valid steps by the environment that they start from; any other is refused. */
interface Steps {
  readonly promote: Partial<Record<Environment, Step>>
  readonly demote: Partial<Record<Environment, DirectStep>>
  readonly retire: Partial<Record<Environment, DirectStep>>
}

const STEPS: Steps = {
  promote: {
    development: { kind: 'direct', to: 'qa' },
    qa: { kind: 'approval', to: 'uat' },
    uat: { kind: 'approval', to: 'production' },
  },
  demote: { uat: { kind: 'direct', to: 'qa' } },
  retire: { production: { kind: 'direct', to: 'retired' } },
}

/** The environments that all versions of a definition must be in for a change of it (docs/api.md#environments). */
const OPEN_ENVIRONMENTS: Record<'update' | 'delete', readonly Environment[]> = {
  update: ['development', 'qa'],
  delete: ['development', 'qa'],
}

/** The environment of a new version. */
export const FIRST_ENVIRONMENT: Environment = 'development'

/** The step that a transition takes from an environment; undefined when there is none. */
export function nextStep<T extends Transition, E extends Environment>(from: E, transition: T): Steps[T][E] {
  return STEPS[transition][from]
}

/** The transitions that an environment has. */
export function transitionsFrom(from: Environment): Transition[] {
  return TRANSITIONS.filter((transition) => nextStep(from, transition) !== undefined)
}

/** Whether a version in this environment keeps its definition from being updated or deleted. */
export function locksDefinition(environment: Environment, change: 'update' | 'delete'): boolean {
  return !OPEN_ENVIRONMENTS[change].includes(environment)
}
