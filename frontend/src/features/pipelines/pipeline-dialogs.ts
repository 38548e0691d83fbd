import { minRoleIn } from '../../../../src/domain/environments.ts'
import type { Pipeline, Role } from '../../api/types.ts'

/** The dialogs of a pipeline; each asks before it changes something. */
export const PIPELINE_DIALOGS = ['stop', 'restart', 'remove'] as const

export type PipelineDialog = (typeof PIPELINE_DIALOGS)[number]

/** The role that may start, stop and delete a pipeline. */
export function roleFor({ environment }: Pipeline): Role {
  return environment ? minRoleIn(environment) : 'DataEngineer'
}

/** What the state of a pipeline allows. */
export function allowedDialogs({ state, desired_state: desired }: Pipeline): readonly PipelineDialog[] {
  if (state === 'stopped' || state === 'failed') return ['remove', 'restart']
  return desired === 'stopped' ? [] : ['stop']
}
