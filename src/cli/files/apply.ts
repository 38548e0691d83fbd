import { CommandError } from '../errors.ts'
import type { Notice } from './kinds/kind.ts'
import type { PlannedObject } from './plan.ts'

/** A change that was made. */
export interface MadeChange {
  readonly object: PlannedObject
  readonly notice: Notice
}

/** What was made of a plan. */
export interface Applied {
  readonly made: readonly MadeChange[]
  /** The first change that failed, after which nothing was tried; its outcome is unknown when the connection was cut. */
  readonly failed?: { readonly object: PlannedObject; readonly error: CommandError }
  /** Changes that were not tried. */
  readonly left: readonly PlannedObject[]
}

/** Makes the changes of a plan one after the other, until one fails. */
export async function applyPlan(
  objects: readonly PlannedObject[],
  onChange: (made: MadeChange) => void,
): Promise<Applied> {
  const changes = objects.filter(({ run }) => run !== undefined)
  const made: MadeChange[] = []
  for (const [at, object] of changes.entries()) {
    try {
      const one = { object, notice: await object.run?.() }
      made.push(one)
      onChange(one)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      return { made, failed: { object, error }, left: changes.slice(at + 1) }
    }
  }
  return { made, left: [] }
}
