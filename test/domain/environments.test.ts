import { describe, expect, it } from 'vitest'
import { ENVIRONMENTS, locksDefinition, nextStep, TRANSITIONS, transitionsFrom } from '../../src/domain/environments.ts'

describe('environments', () => {
  it('have the five steps of the spec and no other', () => {
    const steps = ENVIRONMENTS.flatMap((from) =>
      TRANSITIONS.flatMap((transition) => {
        const step = nextStep(from, transition)
        return step ? [`${from} ${transition} → ${step.to} (${step.kind})`] : []
      }),
    )
    expect(steps).toEqual([
      'development promote → qa (direct)',
      'qa promote → uat (approval)',
      'uat promote → production (approval)',
      'uat demote → qa (direct)',
      'production retire → retired (direct)',
    ])
  })

  it('define the transitions from each', () => {
    expect(ENVIRONMENTS.map(transitionsFrom)).toEqual([['promote'], ['promote'], ['promote', 'demote'], ['retire'], []])
  })

  it('lock a definition from uat on', () => {
    for (const change of ['update', 'delete'] as const) {
      expect(ENVIRONMENTS.filter((environment) => locksDefinition(environment, change))).toEqual([
        'uat',
        'production',
        'retired',
      ])
    }
  })
})
