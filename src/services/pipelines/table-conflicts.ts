import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'

/** The tables that a pipeline would write. */
export interface WrittenTables {
  readonly sinkTable: string
  /** Tables that get diverted rows. */
  readonly diverts: readonly string[]
}

/** A live pipeline that keeps another one from writing a table. */
export interface TableConflict {
  readonly pipelineId: string
  readonly table: string
  /** What the message says about the table. */
  readonly what: string
}

/**
 * The live pipeline that has one of the tables as its sink, or diverts rows into the sink; undefined if there is none. Several pipelines
 * may divert rows into one table.
 */
export function tableConflict(
  live: readonly Pick<PipelineRecord, 'id' | 'sinkTable' | 'options'>[],
  { sinkTable, diverts }: WrittenTables,
): TableConflict | undefined {
  for (const { id, sinkTable: other, options } of live) {
    if (diverts.includes(other)) {
      return { pipelineId: id, table: other, what: `the table ${other} of diverted rows is the sink of pipeline ${id}` }
    }
    if (options.diverts?.includes(sinkTable) === true) {
      return { pipelineId: id, table: sinkTable, what: `pipeline ${id} diverts rows into the sink ${sinkTable}` }
    }
  }
  return undefined
}
