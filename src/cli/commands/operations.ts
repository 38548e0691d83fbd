import { callCommand, listCommand } from '../api/api-command.ts'
import { pairsOf } from '../api/answer.ts'
import type { Command } from '../command.ts'
import { followOperation } from '../operation-progress.ts'
import { JSON_OPTION, showPairs } from '../show.ts'

const PARTS = ['request', 'health_before', 'health_after', 'receipt'] as const

/** Commands for the ledger of operations. */
export const ledgerCommands: Readonly<Record<string, Command>> = {
  operations: listCommand('listOperations', {
    summary: 'list operations, newest first',
    columns: [
      'id',
      'operation',
      'table',
      'state',
      ['BY', 'requested_by'],
      ['TIME', 'duration_ms'],
      ['CREATED', 'created_at'],
    ],
    none: 'no operations',
    examples: ['lockhouse operations --state running'],
  }),
  'operations savings': callCommand('getSavings', {
    fields: ['from', 'to', 'total', 'money'],
    tables: {
      rows: [
        'date',
        'operation',
        'by',
        ['RUNS', 'operations'],
        'failed',
        'undone',
        ['TIME', 'duration_ms'],
        ['BEFORE', 'files_before'],
        ['AFTER', 'files_after'],
        ['FREED', 'storage_freed_bytes'],
      ],
    },
    examples: ['lockhouse operations savings', 'lockhouse operations savings --from 2026-11-01 --to 2026-11-30'],
  }),
  'operations show': callCommand('getOperation', {
    except: PARTS.filter((part) => part !== 'receipt'),
    examples: ['lockhouse operations show op-01k9…'],
  }),
  'operations follow': {
    summary: 'show the progress of an operation until it ends; ends with 1 when it does not succeed',
    names: ['OPERATION'],
    options: JSON_OPTION,
    examples: ['lockhouse operations follow op-01k9…'],
    endpoints: ['watchOperation', 'getOperation'],
    async run(call) {
      const operation = await followOperation(call, call.names[0] ?? '')
      showPairs(call, operation, pairsOf(operation, PARTS))
    },
  },
  'operations cancel': callCommand('cancelOperation', {
    fields: ['id', 'operation', 'table', 'state'],
    examples: ['lockhouse operations cancel op-01k9…'],
  }),
}
