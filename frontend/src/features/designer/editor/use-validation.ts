import { useCallback, useState } from 'react'
import type { RunEnvironment } from '../../../../../src/domain/environments.ts'
import type { Version } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import type { Graph } from '../../../components/graph/graph.ts'
import { validate } from '../api.ts'
import type { Validated } from './validation.ts'

/** The validation of the graph in the editor. */
export interface Validation {
  readonly validated: Validated | undefined
  readonly error: unknown
  readonly isPending: boolean
  /** Whose parameters the next validation uses. */
  readonly environment: RunEnvironment
  readonly setEnvironment: (environment: RunEnvironment) => void
  readonly run: () => void
  /** Forgets the answer. */
  readonly clear: () => void
}

interface Choice {
  readonly versionId: string
  readonly environment: RunEnvironment
}

/** Validates for the environment of the version (production for a retired one) until another is chosen. */
export function useValidation(graph: Graph, version: Version, asDrawn: boolean): Validation {
  const [validated, setValidated] = useState<Validated>()
  const own = version.environment === 'retired' ? 'production' : version.environment
  const [chosen, setChosen] = useState<Choice>()
  const environment = chosen?.versionId === version.id ? chosen.environment : own
  const { mutate, error, isPending, reset } = useAction({
    send: async (what: Graph): Promise<Validated> => ({
      graph: what,
      environment,
      answer: await validate({ graph: what, saved: asDrawn ? undefined : version, environment }),
    }),
    onDone: setValidated,
  })
  const clear = useCallback(() => {
    setValidated(undefined)
    reset()
  }, [reset])
  const setEnvironment = (next: RunEnvironment): void => setChosen({ versionId: version.id, environment: next })
  return { validated, error, isPending, environment, setEnvironment, run: () => mutate(graph), clear }
}
