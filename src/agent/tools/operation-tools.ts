import { z } from 'zod'
import { tableName } from '../../schemas/common.ts'
import { OPERATION_STATES, type Operation } from '../../schemas/tables/operations.ts'
import { toOperation } from '../../services/operations/operation-view.ts'
import { pageToken } from './paging.ts'
import { type AgentTool, readTool } from './tool.ts'

const PAGE = 30

/** Tools that read the operations ledger. */
export const operationTools: readonly AgentTool[] = [
  readTool({
    name: 'list_operations',
    reach: 'filtered',
    title: 'List operations',
    description: 'Lists operations on tables, newest first: what was done, by whom and with which outcome.',
    examples: [
      'What happened recently?',
      'Which operations failed?',
      'Show the last operations',
      'What was done to {table}?',
      'Who compacted {table}?',
      'Who expired the snapshots of {table}?',
      'When was {table} compacted?',
      'Who changed {table}?',
      'Did anything fail today?',
      'Show the maintenance log of {table}',
      'Did any job fail yesterday?',
      'Recent activity',
      'When were the snapshots of {table} last expired?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({
      table: tableName.optional().describe('Only operations on this table'),
      state: z.enum(OPERATION_STATES).optional(),
      page_token: pageToken,
    }),
    async run({ table, state, page_token }, { caller, services }) {
      const page = await services.operations.list(
        { ...(table === undefined ? {} : { table }), ...(state === undefined ? {} : { state }) },
        { page_size: PAGE, page_token },
        caller,
      )
      return {
        operations: page.items.map((record) => summarize(toOperation(record))),
        next_page_token: page.next_page_token,
      }
    },
  }),
]

function summarize(operation: Operation) {
  return {
    id: operation.id,
    operation: operation.operation,
    table: operation.table,
    state: operation.state,
    requested_by: operation.requested_by,
    created_at: operation.created_at,
    duration_ms: operation.duration_ms,
    bytes_read: operation.bytes_read,
    bytes_written: operation.bytes_written,
    score_before: scoreOf(operation.health_before),
    score_after: scoreOf(operation.health_after),
    error: operation.error,
  }
}

function scoreOf(health: unknown): number | null {
  if (typeof health !== 'object' || health === null || !('score' in health)) return null
  return typeof health.score === 'number' ? health.score : null
}
