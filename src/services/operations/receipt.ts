import { operationEntry, type OperationKind } from '../../domain/tables/operations.ts'
import { type Prices, savingsOf } from '../../domain/tables/prices.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { measureScan, type ScanCost } from '../../maintenance/inspection/scan-cost.ts'
import type { Receipt, ReceiptFigures } from '../../schemas/tables/receipt.ts'
import type { StoredReceipt } from '../../storage/stores/operations/operation-record.ts'

/** Numbers of a plan or of a result by their names; undefined where there is none. */
type Read = (name: string) => number | undefined

const NOTHING: ReceiptFigures = {
  files_removed: 0,
  delete_files_removed: 0,
  manifests_removed: 0,
  bytes_freed: 0,
  storage_freed_bytes: 0,
  bytes_rewritten: 0,
}

/**
 * How the figures of each operation follow from its result, and from its preview, which has the same fields; undefined
 * for an operation without a gain.
 */
const FIGURES: Readonly<Record<OperationKind, ((read: Read) => ReceiptFigures) | undefined>> = {
  compact: (read) => ({
    files_removed: difference(read('rewritten_data_files_count'), read('added_data_files_count')),
    delete_files_removed: read('removed_delete_files_count') ?? null,
    manifests_removed: null,
    bytes_freed: difference(read('rewritten_bytes_count'), read('added_bytes_count')),
    storage_freed_bytes: difference(0, read('added_bytes_count')),
    bytes_rewritten: read('rewritten_bytes_count') ?? null,
  }),
  expire: (read) => ({
    ...NOTHING,
    files_removed: sum(read, 'deleted_data_files_count', 'deleted_foreign_files_count'),
    delete_files_removed: sum(read, 'deleted_position_delete_files_count', 'deleted_equality_delete_files_count'),
    manifests_removed: sum(read, 'deleted_manifest_files_count', 'deleted_manifest_lists_count'),
    bytes_freed: read('freed_bytes') ?? null,
    storage_freed_bytes: read('freed_bytes') ?? null,
  }),
  convert_deletes: (read) => ({
    ...NOTHING,
    delete_files_removed: difference(read('converted_delete_files_count'), read('added_delete_files_count')),
    bytes_freed: difference(read('converted_bytes_count'), read('added_bytes_count')),
    storage_freed_bytes: difference(0, read('added_bytes_count')),
    bytes_rewritten: read('converted_bytes_count') ?? null,
  }),
  rewrite_position_deletes: (read) => ({
    ...NOTHING,
    delete_files_removed: difference(read('rewritten_delete_files_count'), read('added_delete_files_count')),
    bytes_freed: difference(read('rewritten_bytes_count'), read('added_bytes_count')),
    storage_freed_bytes: difference(0, read('added_bytes_count')),
    bytes_rewritten: read('rewritten_bytes_count') ?? null,
  }),
  rewrite_manifests: (read) => ({
    ...NOTHING,
    manifests_removed: difference(read('rewritten_manifests_count'), read('added_manifests_count')),
    storage_freed_bytes: null,
  }),
  remove_orphans: (read) => ({
    ...NOTHING,
    files_removed: read('deleted_files_count') ?? null,
    delete_files_removed: null,
    manifests_removed: null,
    bytes_freed: read('freed_bytes') ?? null,
    storage_freed_bytes: read('freed_bytes') ?? null,
  }),
  add_column: undefined,
  rename_column: undefined,
  drop_column: undefined,
  rollback: undefined,
  restore: undefined,
}

/** Fields of a result with the files that an operation replaced, and with those that replaced them. */
const REPLACED: { readonly [Kind in OperationKind]?: readonly [before: string, after: string] } = {
  compact: ['rewritten_data_files_count', 'added_data_files_count'],
  convert_deletes: ['converted_delete_files_count', 'added_delete_files_count'],
  rewrite_position_deletes: ['rewritten_delete_files_count', 'added_delete_files_count'],
}

function difference(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : from - to
}

function sum(read: Read, ...names: readonly string[]): number | null {
  const known = names.map(read).filter((value) => value !== undefined)
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
}

/** What an operation gains, from its preview or its result; undefined for operations without a gain. Pure. */
export function figuresOf(kind: OperationKind, details: unknown): ReceiptFigures | undefined {
  const read = numbersOf(details)
  return read && FIGURES[kind]?.(read)
}

function numbersOf(details: unknown): Read | undefined {
  if (typeof details !== 'object' || details === null) return undefined
  const values = new Map<string, unknown>(Object.entries(details))
  return (name) => {
    const value = values.get(name)
    return typeof value === 'number' ? value : undefined
  }
}

/** Whether operations of a kind have a receipt when they succeed. */
export function hasReceipt(kind: OperationKind): boolean {
  return FIGURES[kind] !== undefined
}

/** Counts of the files that an operation replaced and that replaced them, from its result; undefined if it replaces none. */
export function replacedFiles(
  kind: OperationKind,
  result: unknown,
): { readonly before: number; readonly after: number } | undefined {
  const names = REPLACED[kind]
  if (names === undefined) return undefined
  const [before, after] = names.map((name) => numbersOf(result)?.(name))
  return { before: before ?? 0, after: after ?? 0 }
}

/** What a preview expects. The size of the files that a compaction will write is not known before. */
export function projectedOf(kind: OperationKind, details: unknown): ReceiptFigures | undefined {
  const figures = figuresOf(kind, details)
  return figures && kind === 'compact' ? { ...figures, bytes_freed: null, storage_freed_bytes: null } : figures
}

/** What is known before an operation. */
export interface OpenReceipt {
  readonly kind: OperationKind
  /** From the plan that is applied. */
  readonly projected: ReceiptFigures | undefined
  readonly scanBefore: ScanCost | undefined
}

/** Measures what the operation changes, before it begins. Never fails: a receipt must not prevent a repair. */
export async function openReceipt(
  kind: OperationKind,
  table: Table,
  projected: ReceiptFigures | undefined,
): Promise<OpenReceipt> {
  return { kind, projected, scanBefore: await scanOf(kind, table) }
}

/** The receipt for the ledger, from the result and the table after it; undefined for operations without a gain. */
export async function closeReceipt(
  { kind, projected, scanBefore }: OpenReceipt,
  result: object,
  table: Table,
): Promise<StoredReceipt | undefined> {
  const measured = figuresOf(kind, result)
  if (measured === undefined) return undefined
  const scanAfter = scanBefore === undefined ? undefined : await scanOf(kind, table)
  const scan = scanBefore === undefined || scanAfter === undefined ? null : { before: scanBefore, after: scanAfter }
  return { projected: projected ?? null, measured, scan }
}

async function scanOf(kind: OperationKind, table: Table): Promise<ScanCost | undefined> {
  return operationEntry(kind).changesScans === true ? measureScan(table).catch(() => undefined) : undefined
}

/** Files that a full scan opens. */
export function requestsOf({ manifests, dataFiles, deleteFiles }: ScanCost): number {
  const list = manifests + dataFiles + deleteFiles === 0 ? 0 : 1
  return list + manifests + dataFiles + deleteFiles
}

/** A receipt as the API returns it, with money at the prices of today. */
export function receiptView({ projected, measured, scan }: StoredReceipt, prices: Prices | undefined): Receipt {
  const scanRequests = scan === null ? null : requestsOf(scan.before) - requestsOf(scan.after)
  return {
    projected,
    measured,
    scan: scan && { before: scanView(scan.before), after: scanView(scan.after) },
    money: savingsOf({ storedBytes: measured.storage_freed_bytes, scanRequests }, prices),
  }
}

function scanView(cost: ScanCost) {
  return {
    planning_ms: cost.planningMs,
    manifests: cost.manifests,
    data_files: cost.dataFiles,
    delete_files: cost.deleteFiles,
    requests: requestsOf(cost),
  }
}
