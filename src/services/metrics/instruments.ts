import type * as prometheus from 'prom-client'
import type { Counter, Histogram, Registry } from 'prom-client'

/** One finished operation of the ledger. */
export interface OperationSample {
  readonly kind: string
  readonly outcome: string
  readonly seconds?: number | undefined
  readonly bytesRead?: number | undefined
  readonly bytesWritten?: number | undefined
}

/** One finished batch of a pipeline that runs in this process. */
export interface BatchSample {
  readonly seconds: number
  readonly rows: number
}

/** One finished call of the catalog. */
export interface CatalogSample {
  readonly operation: string
  readonly isError: boolean
  readonly seconds: number
}

/** What is counted when it happens. */
export interface Instruments {
  operation(sample: OperationSample): void
  batch(sample: BatchSample): void
  batchFailure(): void
  catalogCall(sample: CatalogSample): void
}

/** The library, which is loaded late. */
export type Prometheus = typeof prometheus

const WORK_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 1800]
const CALL_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2, 10]

/** Creates the instruments in a registry of their own; labels have few values, whatever clients send. */
export function createInstruments({ Counter, Histogram }: Prometheus, registry: Registry): Instruments {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `lockhouse_${name}`, help, labelNames, registers: [registry] })
  const histogram = <Label extends string>(name: string, help: string, shape: Shape<Label>) =>
    new Histogram({ name: `lockhouse_${name}`, help, ...shape, registers: [registry] })
  return {
    ...operationInstruments(counter, histogram),
    ...batchInstruments(counter, histogram),
    ...catalogInstruments(counter, histogram),
  }
}

interface Shape<Label extends string> {
  readonly labelNames?: readonly Label[]
  readonly buckets: number[]
}
type MakeCounter = <Label extends string>(name: string, help: string, labels?: readonly Label[]) => Counter<Label>
type MakeHistogram = <Label extends string>(name: string, help: string, shape: Shape<Label>) => Histogram<Label>

function operationInstruments(counter: MakeCounter, histogram: MakeHistogram): Pick<Instruments, 'operation'> {
  const ended = counter('operations_total', 'Finished operations by kind and outcome.', ['kind', 'outcome'])
  const read = counter('operation_read_bytes_total', 'Bytes of data files that operations read.', ['kind'])
  const written = counter('operation_written_bytes_total', 'Bytes of data files that operations wrote.', ['kind'])
  const seconds = histogram('operation_duration_seconds', 'Time that operations ran.', {
    labelNames: ['kind'],
    buckets: WORK_SECONDS,
  })
  return {
    operation({ kind, outcome, ...sample }) {
      ended.inc({ kind, outcome })
      if (sample.seconds !== undefined) seconds.observe({ kind }, sample.seconds)
      read.inc({ kind }, sample.bytesRead ?? 0)
      written.inc({ kind }, sample.bytesWritten ?? 0)
    },
  }
}

function batchInstruments(counter: MakeCounter, histogram: MakeHistogram): Pick<Instruments, 'batch' | 'batchFailure'> {
  const rows = counter('batch_rows_total', 'Rows that batches of pipelines read.')
  const failures = counter('batch_failures_total', 'Attempts of pipelines that failed and are retried, or ended them.')
  const seconds = histogram('batch_duration_seconds', 'Time of the batches of pipelines.', { buckets: WORK_SECONDS })
  return {
    batch(sample) {
      seconds.observe(sample.seconds)
      rows.inc(sample.rows)
    },
    batchFailure: () => failures.inc(),
  }
}

function catalogInstruments(counter: MakeCounter, histogram: MakeHistogram): Pick<Instruments, 'catalogCall'> {
  const errors = counter('catalog_errors_total', 'Calls of the catalog that failed, by operation.', ['operation'])
  const seconds = histogram('catalog_call_duration_seconds', 'Time of calls of the catalog, by operation.', {
    labelNames: ['operation'],
    buckets: CALL_SECONDS,
  })
  return {
    catalogCall({ operation, isError, seconds: taken }) {
      seconds.observe({ operation }, taken)
      errors.inc({ operation }, isError ? 1 : 0)
    },
  }
}
