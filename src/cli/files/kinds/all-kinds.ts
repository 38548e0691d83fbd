import { alertKind } from './alert.ts'
import { definitionKind } from './definition.ts'
import { environmentKind } from './environment.ts'
import { type Kind, KIND_NAMES, type KindName } from './kind.ts'
import { policyKind } from './policy.ts'

const BY_NAME: Readonly<Record<KindName, Kind>> = {
  Environment: environmentKind,
  Policy: policyKind,
  PipelineDefinition: definitionKind,
  Alert: alertKind,
}

/** All kinds, in the order in which changes are made. */
export const KINDS: readonly Kind[] = KIND_NAMES.map((name) => BY_NAME[name])

/** The kind of this name. */
export function findKind(name: unknown): Kind | undefined {
  return KINDS.find(({ kind }) => kind === name)
}
