import { maintenanceSkill, describeProposal } from './maintenance-skill.ts'
import { lastOf, type Next, type Skill } from './skill.ts'
import { findTable } from './table-finder.ts'

const NAME = '[`"\']?([\\p{L}_][\\p{L}\\p{N}_.]*)[`"\']?'
const ADD = new RegExp(
  `\\badd (?:a |the )?(?:new )?column ${NAME}(?: of type| as| with type|:)? ([a-z]+(?:\\([\\d, ]+\\))?)(?= to\\b| in\\b| on\\b|$)`,
  'iu',
)
const RENAME = new RegExp(`\\brename (?:the )?column ${NAME}(?: (?:of|in|on) \\S+)? (?:to|into|as) ${NAME}`, 'iu')
const DROP = new RegExp(`\\b(?:drop|remove) (?:the )?column ${NAME}`, 'iu')

/** Proposals to add, rename and drop a column. */
const columnSkill: Skill = {
  matches: ({ text, isAsking }) => !isAsking && (ADD.test(text) || RENAME.test(text) || DROP.test(text)),
  next(question, seen) {
    const { tool, args } = columnChange(question.text)
    const columns = Object.values(args).map((name) => name.toLowerCase())
    // `payload.kind` in "drop column payload.kind" is a column, not a table.
    const tables = question.tables.filter((name) => !columns.includes(name.toLowerCase()))
    const found = findTable({ ...question, tables }, seen)
    if ('next' in found) return found.next
    const result = lastOf(seen, tool)
    if (result === undefined) return { calls: [{ tool, args: { table: found.table, ...args } }] }
    return { say: describeProposal(found.table, result) }
  },
}

function columnChange(text: string): { readonly tool: string; readonly args: Readonly<Record<string, string>> } {
  const add = ADD.exec(text)
  if (add) return { tool: 'add_column', args: { name: add[1] ?? '', type: add[2] ?? '' } }
  const rename = RENAME.exec(text)
  if (rename) return { tool: 'rename_column', args: { name: rename[1] ?? '', new_name: rename[2] ?? '' } }
  return { tool: 'drop_column', args: { name: DROP.exec(text)?.[1] ?? '' } }
}

const UNDOING = /\b(roll(ed|s)? ?back|roll\b.* back|revert|restore|undo|orphans?)\b/
const DECIDING = /\b(approve|reject|promote|demote|retire|withdraw)\b/
const DELETING = /\b(delete|drop|remove|truncate|purge|wipe|erase|destroy)\b/

const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [
    DECIDING,
    'I cannot approve, reject, promote, demote or retire anything: people do that on the page of the approval or the version.',
  ],
  [UNDOING, 'I cannot roll tables back or remove orphan files: a LeadDataEngineer does that on the page of the table.'],
  [DELETING, 'I cannot delete tables, rows, pipelines or definitions.'],
]

/** Changes that the agent never makes. */
const refusalSkill: Skill = {
  matches: ({ lower, isAsking }) => !isAsking && (DECIDING.test(lower) || UNDOING.test(lower) || DELETING.test(lower)),
  next({ lower }): Next {
    const what = REFUSALS.find(([matches]) => matches.test(lower))?.[1] ?? ''
    return { say: `${what} I can show pending approvals, and propose compaction, snapshot expiry and column changes.` }
  },
}

/** Skills that propose changes, most specific first. */
export const changeSkills: readonly Skill[] = [columnSkill, refusalSkill, maintenanceSkill]
