/** The tables of a pipeline. */
export interface PipelineTables {
  readonly id: string
  readonly sources: readonly string[]
  readonly sinkTable: string
}

/**
 * The pipelines, in order, through which rows of a new pipeline would return to one of its sources and circulate
 * endlessly; undefined when there is no such cycle.
 */
export function cycleThrough(
  live: readonly PipelineTables[],
  { sources, sinkTable }: Omit<PipelineTables, 'id'>,
): readonly string[] | undefined {
  const ways: { readonly table: string; readonly through: readonly string[] }[] = [{ table: sinkTable, through: [] }]
  const seen = new Set([sinkTable])
  for (const { table, through } of ways) {
    if (sources.includes(table)) return through
    for (const pipeline of live) {
      if (!pipeline.sources.includes(table) || seen.has(pipeline.sinkTable)) continue
      seen.add(pipeline.sinkTable)
      ways.push({ table: pipeline.sinkTable, through: [...through, pipeline.id] })
    }
  }
  return undefined
}
