/** Where a version of a pipeline can be (spec, section 3). */
export const ENVIRONMENTS = ['development', 'qa', 'uat', 'production', 'retired'] as const

export type Environment = (typeof ENVIRONMENTS)[number]

/** What moves a version from one environment to another. */
export const TRANSITIONS = ['promote', 'demote', 'retire'] as const

export type Transition = (typeof TRANSITIONS)[number]

/** How a transition is done: at once, or when an approval request is approved. */
export interface Step {
  readonly kind: 'direct' | 'approval'
  readonly to: Environment
}

/** Every step there is. What is not here is refused. */
const STEPS: Partial<Record<`${Environment}:${Transition}`, Step>> = {
  'development:promote': { kind: 'direct', to: 'qa' },
  'qa:promote': { kind: 'approval', to: 'uat' },
  'uat:promote': { kind: 'approval', to: 'production' },
  'uat:demote': { kind: 'direct', to: 'qa' },
  'production:retire': { kind: 'direct', to: 'retired' },
}

/** The environments that all versions of a definition must be in for a change of it (spec, section 3, rules 1 and 2). */
const OPEN_ENVIRONMENTS: Record<'update' | 'delete', readonly Environment[]> = {
  update: ['development', 'qa'],
  delete: ['development', 'qa'],
}

/** Where a new version starts. */
export const FIRST_ENVIRONMENT: Environment = 'development'

/** The step that a transition takes from an environment; undefined when there is none. */
export function nextStep(from: Environment, transition: Transition): Step | undefined {
  return STEPS[`${from}:${transition}`]
}

/** The transitions that an environment has. */
export function transitionsFrom(from: Environment): Transition[] {
  return TRANSITIONS.filter((transition) => nextStep(from, transition) !== undefined)
}

/** Whether a version in this environment keeps its definition from being updated or deleted. */
export function locksDefinition(environment: Environment, change: 'update' | 'delete'): boolean {
  return !OPEN_ENVIRONMENTS[change].includes(environment)
}
