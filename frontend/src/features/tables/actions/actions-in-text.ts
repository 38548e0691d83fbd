import { findByName } from '../../../components/text/find-by-name.ts'
import { operations } from '../../../strings/everywhere/common.ts'
import type { ActionKind } from './action-specs.ts'

/** Tables that are offered for each action. */
const TABLES = 5

/** An action on a table that a text may mean. */
export interface MeantAction {
  readonly kind: ActionKind
  readonly table: string
}

/** The actions on tables that a text may mean, such as `compact orders`: its first words begin words of an action's name. */
export function actionsInText(
  text: string,
  tables: readonly string[],
  kinds: readonly ActionKind[],
): readonly MeantAction[] {
  const words = text.trim().toLowerCase().split(/\s+/)
  return kinds.flatMap((kind) => {
    const named = countNamed(words, kind)
    const rest = words.slice(named).join(' ')
    if (named === 0 || rest === '') return []
    return findByName(tables, rest, (table) => table)
      .slice(0, TABLES)
      .map((table) => ({ kind, table }))
  })
}

/** How many words at the beginning belong to the name of an action. */
function countNamed(words: readonly string[], kind: ActionKind): number {
  const name = (operations.names[kind] ?? kind).toLowerCase().split(' ')
  const other = words.findIndex((word) => !name.some((part) => part.startsWith(word)))
  return other === -1 ? words.length : other
}
