import { z } from 'zod'
import { tableName } from '../../schemas/common.ts'
import { type AgentTool, readTool } from './tool.ts'

/** Tools that look at tables, pipelines and the ledger. */
export const readTools: readonly AgentTool[] = [
  readTool({
    name: 'list_tables',
    title: 'List tables',
    description: 'Lists the tables of the catalog, or those of one namespace.',
    minRole: 'Auditor',
    input: z.strictObject({
      namespace: z.string().min(1).max(1000).optional().describe('Only tables of this namespace, such as sales'),
    }),
    run: ({ namespace }, { services }) => services.tables.list(namespace, { page_size: 100 }),
  }),
  readTool({
    name: 'get_schema',
    title: 'Get a schema',
    description: 'The columns of a table with their types and comments.',
    minRole: 'Auditor',
    input: z.strictObject({ table: tableName }),
    run: ({ table }, { services }) => services.tables.schema(table),
  }),
]
