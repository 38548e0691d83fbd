import { z } from 'zod'
import { tableName } from '../../schemas/common.ts'
import { DEFAULT_LINEAGE_DEPTH, LINEAGE_DIRECTIONS, MAX_LINEAGE_DEPTH } from '../../schemas/tables/lineage.ts'
import { type AgentTool, readTool } from './tool.ts'

const LIMIT = 60

/** Tools that follow data between tables. */
export const lineageTools: readonly AgentTool[] = [
  readTool({
    name: 'table_lineage',
    title: 'Lineage of a table',
    description:
      'Returns the tables that a table is made of or that are made of it, with the pipelines and versions between them, their ' +
      'state and lag. Call it before a change of a table, to see what the change affects.',
    examples: [
      'What reads {table}?',
      'Which pipelines write {table}?',
      'Lineage of {table}',
      'Where does the data of {table} come from?',
      'What depends on {table}?',
      'Which tables are made of {table}?',
      'Who writes {table}?',
      'What is upstream of {table}?',
      'What is downstream of {table}?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({
      table: tableName,
      direction: z.enum(LINEAGE_DIRECTIONS).default('both').describe('upstream: what the table is made of'),
      depth: z.int().min(1).max(MAX_LINEAGE_DEPTH).default(DEFAULT_LINEAGE_DEPTH).describe('Pipelines in a row'),
    }),
    async run(request, { caller, services }) {
      const { nodes, edges, truncated, similar_tables } = await services.lineage.read(
        { ...request, limit: LIMIT, columns: false },
        { caller },
      )
      const used = edges.filter(({ kind }) => kind === 'reads' || kind === 'writes')
      return {
        table: request.table,
        nodes: nodes.filter(({ id }) => used.some(({ from, to }) => from === id || to === id)),
        edges: used.map(({ kind, from, to, state, lag }) => ({ kind, from, to, state, lag })),
        similar_tables,
        truncated,
      }
    },
  }),
]
