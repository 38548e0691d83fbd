import { quoteSparkName } from '../../engines/spark/connect/plan/quote-spark-name.ts'
import { mapColumns } from '../sink/column-mapping.ts'
import type { BatchSchemas, SparkBatch } from '../sink/batch-query.ts'
import { absentProblem, ambiguousNames, promotedSql, typeProblems } from './column-types.ts'
import { withRemedy } from './readable.ts'
import { streamName } from './stream-name.ts'

/** The columns of a copy as Spark's SQL, matched as the embedded engine matches them; what Spark cannot match is a problem. */
export function sparkCopy({ sources: [source], sink, known }: BatchSchemas): SparkBatch {
  if (source === undefined) return { query: '', problems: ['a copy has one source'] }
  const { reads } = mapColumns(source, sink, known)
  const problems = [...ambiguousNames(source), ...ambiguousNames(sink)]
  const fields = new Map(source.fields.map((field) => [field.id, field]))
  const columns = reads.flatMap((read, at) => {
    const from = fields.get(read.id)
    const to = sink.fields[at]
    if (to === undefined) return []
    if (from === undefined) return problems.push(...absentProblem(to)) > 0 ? [] : [] // Spark writes NULL
    const problem = [from, to].flatMap(({ name, type }) => typeProblems(name, type))[0]
    if (problem !== undefined) problems.push(problem)
    const column = `${streamName(0)}.${quoteSparkName([from.name])}`
    const value = promotedSql(column, from.type, to.type)
    if (value === undefined) problems.push(`column ${to.name}: Spark cannot convert it`)
    return [`${value ?? column} AS ${quoteSparkName([to.name])}`]
  })
  return { query: `SELECT ${columns.join(', ')} FROM ${streamName(0)}`, problems: problems.map(withRemedy) }
}
