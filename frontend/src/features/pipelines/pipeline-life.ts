import type { Pipeline } from '../../api/types.ts'

/** Whether a pipeline is at work, so that its figures say something of now. */
export function isAlive({ state }: Pipeline): boolean {
  return state !== 'stopped' && state !== 'failed'
}
