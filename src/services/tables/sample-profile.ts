import type { RequestContext } from '../../domain/audit.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { TableStatistics } from '../../maintenance/inspection/column-statistics.ts'
import type { columnProfile, sampleFacts } from '../../schemas/tables/statistics.ts'
import type { Wire } from '../../schemas/wire.ts'

/** A state of a table whose rows are measured, and for whom. */
export interface SampleRequest {
  /** The qualified name of the table, for messages and the audit log. */
  readonly label: string
  readonly table: Table
  /** The figures of the manifests of this state. */
  readonly statistics: TableStatistics
  readonly context: RequestContext
  readonly signal: AbortSignal
}

/** What a sample of the rows showed. */
export interface SampleProfile {
  readonly facts: Wire<typeof sampleFacts>
  /** By field id; columns that are not measured are missing. */
  readonly columns: ReadonlyMap<number, Wire<typeof columnProfile>>
}

/** Measures a sample of the rows of a table, with deletes applied (docs/api.md#a-sample-of-the-rows). */
export type MeasureSample = (request: SampleRequest) => Promise<SampleProfile>
