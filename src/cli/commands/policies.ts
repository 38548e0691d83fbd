import { callCommand, listCommand } from '../api/api-command.ts'
import { showAnswer } from '../api/answer.ts'
import { filledPath, endpointOf } from '../endpoint.ts'
import { resolveIds } from '../api/parameters.ts'
import type { Call, Command } from '../command.ts'
import { JSON_OPTION } from '../show.ts'

const FIELDS = ['id', 'name', 'mode', 'priority', 'tables', 'cooldown', 'revision'] as const
/** What a policy has besides what a request sets. */
const ANSWERED = [
  'id',
  'managed_by',
  'matched_tables',
  'suspended_tables',
  'gains',
  'revision',
  'created_by',
  'created_at',
  'updated_at',
] as const

/** Commands for maintenance policies. */
export const policyCommands: Readonly<Record<string, Command>> = {
  policies: listCommand('listPolicies', {
    columns: [
      'name',
      'mode',
      'priority',
      'tables',
      ['OPERATIONS', 'operations[].operation'],
      ['MATCHED', 'matched_tables'],
      ['SUSPENDED', 'suspended_tables'],
      ['RUNS', 'gains.runs'],
      ['FREED', 'gains.storage_freed_bytes'],
    ],
    none: 'no policies',
    examples: ['lockhouse policies'],
  }),
  'policies show': callCommand('getPolicy', { examples: ['lockhouse policies show nightly'] }),
  'policies create': callCommand('createPolicy', {
    summary: 'create a maintenance policy from a file with its JSON',
    file: 'required',
    ignores: ANSWERED,
    fields: FIELDS,
    examples: ['lockhouse policies create nightly.json', 'lockhouse policies create nightly.json --mode active'],
  }),
  'policies update': callCommand('updatePolicy', {
    summary: 'replace a policy by that of a file; ends its suspensions',
    file: 'required',
    ignores: ANSWERED,
    fields: FIELDS,
    examples: ['lockhouse policies update nightly nightly.json'],
  }),
  'policies preview': callCommand('previewPolicy', {
    summary: 'show what the policy of a file would do in the next 24 hours; stores nothing',
    file: 'required',
    ignores: ANSWERED,
    except: ['matched_tables'],
    tables: { runs: ['table', 'operation', 'at', 'score', 'projected_score', 'planned_bytes', 'detail'] },
    examples: ['lockhouse policies preview nightly.json'],
  }),
  'policies enable': modeCommand('active', 'let a policy run operations'),
  'policies disable': modeCommand('shadow', 'let a policy decide and run nothing; operations that run go on'),
  'policies resume': callCommand('resumePolicy', {
    examples: ['lockhouse policies resume nightly --table demo.events'],
  }),
  'policies decisions': listCommand('listPolicyDecisions', {
    columns: [
      ['TIME', 'updated_at'],
      'table',
      'operation',
      'outcome',
      'reason',
      ['BEFORE', 'score_before'],
      ['AFTER', 'score_after'],
      'detail',
    ],
    none: 'no decisions yet',
    limit: 100,
    examples: ['lockhouse policies decisions nightly --outcome failed'],
  }),
  'policies delete': callCommand('deletePolicy', {
    confirm: 'Delete the policy {} with its decisions?',
    done: 'the policy {} is deleted',
    examples: ['lockhouse policies delete nightly --yes'],
  }),
}

function modeCommand(mode: 'active' | 'shadow', summary: string): Command {
  const example = mode === 'active' ? 'enable' : 'disable'
  return {
    summary,
    names: ['POLICY'],
    options: JSON_OPTION,
    examples: [`lockhouse policies ${example} nightly`],
    endpoints: ['getPolicy', 'updatePolicy'],
    run: (call) => setMode(call, mode),
  }
}

/** Changes the mode alone, or nothing when somebody else changes the policy at the same time. */
async function setMode(call: Call, mode: string): Promise<void> {
  const { path, body: fields } = endpointOf('updatePolicy')
  const at = filledPath(path, await resolveIds(call, ['policy_id'], call.names))
  const { body: policy, etag } = await call.api.send('GET', at)
  const kept = Object.entries(policy as object).filter(([name]) => Object.hasOwn(fields, name))
  const headers = etag === undefined ? {} : { 'If-Match': etag }
  const { body } = await call.api.send('PUT', at, { body: { ...Object.fromEntries(kept), mode }, headers })
  showAnswer(call, body, { fields: FIELDS })
}
