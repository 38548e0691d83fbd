/** The tables of a pipeline. */
export interface PipelineTables {
  readonly id: string
  readonly sources: readonly string[]
  readonly sinkTable: string
  /** Further tables that it writes; absent: none. */
  readonly options?: { readonly diverts?: readonly string[] }
}

/**
 * The pipelines, in order, through which rows of a new pipeline would return to one of its sources and circulate
 * endlessly; undefined when there is no such cycle.
 */
export function cycleThrough(
  live: readonly PipelineTables[],
  { sources, ...tables }: Omit<PipelineTables, 'id'>,
): readonly string[] | undefined {
  const own = writtenBy(tables)
  const ways = own.map((table): { readonly table: string; readonly through: readonly string[] } => ({
    table,
    through: [],
  }))
  const seen = new Set(own)
  for (const { table, through } of ways) {
    if (sources.includes(table)) return through
    for (const pipeline of live) {
      if (!pipeline.sources.includes(table)) continue
      for (const written of writtenBy(pipeline)) {
        if (seen.has(written)) continue
        seen.add(written)
        ways.push({ table: written, through: [...through, pipeline.id] })
      }
    }
  }
  return undefined
}

function writtenBy({ sinkTable, options }: Pick<PipelineTables, 'sinkTable' | 'options'>): readonly string[] {
  return [sinkTable, ...(options?.diverts ?? [])]
}
