import { KEY_TYPES } from '../../../../src/domain/pipelines/modes.ts'
import type { Column } from '../../api/types.ts'

/** The names of columns that can identify a row: top-level ones of types whose equal values are equal everywhere. */
export function keyColumnNames(columns: readonly Column[]): readonly string[] {
  const names: string[] = []
  let parent: string | undefined
  for (const { path, type } of columns) {
    if (parent !== undefined && path.startsWith(`${parent}.`)) continue
    parent = /^(struct|list|map)\b/.test(type) ? path : undefined
    if (KEY_TYPES.has(/^\w+/.exec(type)?.[0] ?? '')) names.push(path)
  }
  return names
}
