import { sparkCopy } from '../spark/copy-sql.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { mapColumns } from '../sink/column-mapping.ts'

const INPUT = 'source_rows'

/** Copies every row of one source; columns are matched as {@link mapColumns} says. */
export const copyQuery: BatchQuery = {
  compile({ sources, sink, known }) {
    const [source] = sources
    if (source === undefined || sources.length > 1) throw new Error('a copy has one source')
    const { reads, sinkIds, pairs, missing, problems } = mapColumns(source, sink, known)
    const columns = reads.map(({ id }, at) => `c${id} AS c${sinkIds[at]}`)
    return {
      inputs: [{ name: INPUT, fields: reads, columnsBy: 'id' }],
      query: `SELECT ${columns.join(', ')} FROM ${INPUT}`,
      isRepeatable: true,
      isOneToOne: true,
      pairs,
      missing,
      problems,
    }
  },
  sparkBatch: sparkCopy,
}
