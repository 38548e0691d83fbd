import type { Ability } from './ability.ts'
import { columnAbilities } from './answers/column-answers.ts'
import { definitionAbilities } from './answers/definition-answers.ts'
import { deploymentAbilities } from './answers/deployment-answers.ts'
import { lineageAbilities } from './answers/lineage-answers.ts'
import { maintenanceAbilities } from './answers/maintenance-answers.ts'
import { operationAbilities } from './answers/operation-answers.ts'
import { pipelineAbilities } from './answers/pipeline-answers.ts'
import { computeAbility, rowAbilities } from './answers/row-answers.ts'
import { tableAbilities } from './answers/table-answers.ts'
import type { Subject } from './language/example-index.ts'

/** How the assistant answers with each tool, by the name of the tool. */
export const TOOL_ABILITIES: Readonly<Record<string, Ability>> = {
  ...tableAbilities,
  ...maintenanceAbilities,
  ...pipelineAbilities,
  ...definitionAbilities,
  ...deploymentAbilities,
  ...operationAbilities,
  ...rowAbilities,
  ...columnAbilities,
  ...lineageAbilities,
}

/** Something that people ask although no tool answers it. */
interface OtherSubject extends Subject {
  readonly ability: Ability
}

/** The subject of a prompt that asks what the assistant can do. */
export const HELP = 'help'

const PROPOSABLE = 'I can show pending approvals, and propose compaction, snapshot expiry and column changes.'

function refuses(name: string, why: string, examples: readonly string[]): OtherSubject {
  return { name, examples, isOrder: true, ability: { next: () => ({ say: `${why} ${PROPOSABLE}` }) } }
}

/** Subjects without a tool of their own. */
export const OTHER_SUBJECTS: readonly OtherSubject[] = [
  refuses(
    'decide',
    'I cannot approve, reject, promote, demote or retire anything: people do that on the page of the approval or the version.',
    [
      'Approve {id}',
      'Approve the approval request of {definition}',
      'Approve everything that is pending',
      'Reject {id} because of a reason',
      'Reject the approval request',
      'Promote the version',
      'Promote {definition} to {environment}',
      'Demote version {count} of {definition}',
      'Retire version {count} of {definition}',
      'Withdraw the approval request {id}',
    ],
  ),
  refuses(
    'undo',
    'I cannot roll tables back or remove orphan files: a LeadDataEngineer does that on the page of the table.',
    [
      'Roll back {table}',
      'Roll {table} back to snapshot {count}',
      'Rollback {table}',
      'Revert {table}',
      'Restore {table}',
      'Restore {table} to {time}',
      'Undo the last operation on {table}',
      'Remove the orphan files of {table}',
      'Clean up orphan files of {table}',
    ],
  ),
  refuses('delete', 'I cannot delete tables, rows, pipelines or definitions.', [
    'Delete {table}',
    'Drop table {table}',
    'Delete rows of {table}',
    'Truncate {table}',
    'Delete the files of {table}',
    'Delete all tables',
    'Delete pipeline {pipeline}',
    'Delete the definition {definition}',
    'Delete {definition}',
  ]),
  {
    name: 'compute',
    examples: [
      'What is the average {column} in {table}?',
      'Top {count} {column} of {table}',
      'Sum of {column} per {column} in {table}',
      'Distribution of {column} in {table}',
    ],
    isOrder: false,
    ability: computeAbility,
  },
]

/** Examples of prompts that ask what the assistant can do. */
export const HELP_SUBJECT: Subject = {
  name: HELP,
  examples: [
    'What can you do?',
    'What can I ask?',
    'Help',
    'Who are you?',
    'What do you understand?',
    'How can I use you?',
    'What can you answer?',
  ],
  isOrder: false,
}
