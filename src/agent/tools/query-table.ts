import { z } from 'zod'
import { tableName } from '../../schemas/common.ts'
import { MAX_RESULT_ROWS } from './cap-result.ts'
import { readTool } from './tool.ts'

/** Limit of the rows as JSON, so that the whole result stays within its own limit. */
const MAX_BYTES = 12_000

/** Reads rows of one table. */
export const queryTool = readTool({
  name: 'query_table',
  reach: 'objects',
  title: 'Query a table',
  description:
    'Runs one SELECT over one table and returns up to 100 rows. Write DuckDB SQL, and name the table by the last ' +
    'part of its name: for sales.orders write FROM orders. No other table, file or network can be read. ' +
    'Aggregate where you can: long results are cut.',
  examples: [
    'How many rows does {table} have?',
    'Show {count} rows of {table}',
    'Count the rows of {table}',
    'Show some records of {table}',
    'Number of rows in {table}',
    'Sample of {table}',
    'Let me see the data of {table}',
    'Preview the first rows of {table}',
  ],
  minRole: 'DataEngineer',
  input: z.strictObject({
    table: tableName,
    sql: z.string().min(1).max(10_000).describe('Such as SELECT status, count(*) FROM orders GROUP BY status'),
    max_rows: z.int().min(1).max(MAX_RESULT_ROWS).default(MAX_RESULT_ROWS),
  }),
  run: ({ table, sql, max_rows }, { services, signal, caller }) =>
    services.queryRows({ user: caller.user, table, sql, maxRows: max_rows, maxBytes: MAX_BYTES, signal }),
})
