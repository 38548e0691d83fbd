import type { ReadMode, SinkWrite } from '../../domain/pipelines/modes.ts'
import { withRemedy } from './readable.ts'

/** A setting of a pipeline; `place` is its node, as in `node a: `, or empty. */
interface Placed<Setting> {
  readonly place: string
  readonly setting: Setting
}

/** Why Spark cannot follow changes or merge rows by key, by setting; empty when rows are appended only (docs/adr/0026). */
export function sparkChangeProblems(
  reads: readonly Placed<ReadMode>[],
  { place, setting: { mode } }: Placed<SinkWrite>,
): readonly string[] {
  const read = reads
    .filter(({ setting }) => setting === 'changes')
    .map((one) => `${one.place}read is "changes", and a stream in Spark reads appended rows only`)
  const written = `${place}write is "${mode}", and a stream in Spark appends rows, but does not replace or delete any`
  return [...read, ...(mode === 'append' ? [] : [written])].map(withRemedy)
}
