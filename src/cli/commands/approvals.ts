import { callCommand, listCommand } from '../api/api-command.ts'
import type { Command } from '../command.ts'

const FIELDS = [
  'id',
  'status',
  'definition_name',
  'version',
  'from_environment',
  'to_environment',
  'approvals_given',
  'approvals_required',
  'opens_at',
  'decided_by',
  'reason',
] as const

/** Commands for approval requests. */
export const approvalCommands: Readonly<Record<string, Command>> = {
  approvals: listCommand('listApprovals', {
    columns: [
      'id',
      'status',
      ['DEFINITION', 'definition_name'],
      'version',
      ['TO', 'to_environment'],
      ['APPROVALS', 'approvals_given'],
      ['NEEDED', 'approvals_required'],
      ['BY', 'requested_by'],
      ['REQUESTED', 'requested_at'],
    ],
    none: 'no approval requests',
    examples: ['lockhouse approvals --status pending'],
  }),
  'approvals show': callCommand('getApproval', {
    fields: [
      'id',
      'status',
      'definition_name',
      'version',
      'version_id',
      'from_environment',
      'to_environment',
      'requested_by',
      'requested_at',
      'decided_by',
      'decided_at',
      'reason',
      'approvals_given',
      'approvals_required',
      'approvals_missing',
      'expires_at',
      'opens_at',
      ['overridden by', 'override.by'],
      ['reason of the override', 'override.reason'],
      ['may decide', 'may_decide.role'],
      ['known users who may', 'may_decide.known_users'],
      ['compared with version', 'diff.from.version'],
      ['identical', 'diff.identical'],
      ['deployed', 'deploys.deploy'],
      ['consequences', 'deploys.plan.consequences'],
    ],
    tables: {
      approvals: ['user', 'approved_at', 'counts'],
      'may_decide.except': ['user', 'because'],
      'diff.nodes.added': ['id', 'type', 'config'],
      'diff.nodes.removed': ['id', 'type', 'config'],
      'diff.nodes.changed': ['id', 'changes'],
      'deploys.plan.problems': ['code', 'node_id', 'message'],
    },
    examples: ['lockhouse approvals show pr-01k9…'],
  }),
  'approvals rehearse': callCommand('rehearseRequest', {
    except: ['limits', 'candidate.columns', 'base.columns'],
    tables: {
      inputs: ['table', 'files', 'rows', 'complete'],
      columns: ['name', ['NOW', 'type_base'], ['THEN', 'type_candidate'], 'nulls_base', 'nulls_candidate'],
    },
    examples: ['lockhouse approvals rehearse pr-01k9…'],
  }),
  'approvals approve': callCommand('approveRequest', {
    fields: FIELDS,
    examples: ['lockhouse approvals approve pr-01k9… --comment "rows compared"'],
  }),
  'approvals reject': callCommand('rejectRequest', {
    fields: FIELDS,
    examples: ['lockhouse approvals reject pr-01k9… --reason "no rows for March"'],
  }),
  'approvals override-window': callCommand('overrideApprovalWindow', {
    fields: FIELDS,
    examples: ['lockhouse approvals override-window pr-01k9… --reason "fixes wrong invoices"'],
  }),
  'approvals withdraw': callCommand('withdrawRequest', {
    fields: FIELDS,
    examples: ['lockhouse approvals withdraw pr-01k9…'],
  }),
  'approvals comments': listCommand('listComments', {
    columns: [['TIME', 'created_at'], 'author', 'comment'],
    none: 'no comments',
    examples: ['lockhouse approvals comments pr-01k9…'],
  }),
  'approvals comment': callCommand('addComment', {
    words: ['comment'],
    examples: ['lockhouse approvals comment pr-01k9… "which rows changed?"'],
  }),
}
