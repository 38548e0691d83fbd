import { formatType } from '../../iceberg/schema/type-names.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { FileBounds, ShownBounds } from '../../maintenance/inspection/file-bounds.ts'
import type { fileBounds } from '../../schemas/tables/statistics.ts'
import type { Wire } from '../../schemas/wire.ts'

type Answer = Wire<typeof fileBounds>

/** The answer with the bounds of data files. */
export function describeFileBounds(
  name: string,
  { metadata }: Table,
  { layout, dataFiles, shown }: FileBounds,
): Answer {
  return {
    success: true,
    table: name,
    snapshot_id: metadata.currentSnapshotId?.toString() ?? null,
    layout: layout === undefined ? null : { kind: layout.kind, columns: [...layout.columns] },
    data_file_count: dataFiles,
    ...(shown === undefined ? NOTHING_SHOWN : describeColumn(shown)),
  }
}

type ColumnPart = Omit<Answer, 'success' | 'table' | 'snapshot_id' | 'layout' | 'data_file_count'>

const NOTHING_SHOWN: ColumnPart = {
  column: null,
  bounded_file_count: 0,
  scale: 'linear',
  lower: null,
  upper: null,
  overlap: null,
  bars: [],
  left_out_count: 0,
}

function describeColumn({ column, boundedFiles, scale, range, overlap, bars }: ShownBounds): ColumnPart {
  return {
    column: { id: column.id, path: column.name, type: formatType(column.type) },
    bounded_file_count: boundedFiles,
    scale,
    lower: range?.lower ?? null,
    upper: range?.upper ?? null,
    overlap: { file_count: overlap.files, other_count: overlap.others, overlap_count: overlap.overlaps },
    bars: bars.map(({ rows, bytes, ...bar }) => ({ ...bar, record_count: rows, size_bytes: bytes })),
    left_out_count: boundedFiles - bars.length,
  }
}
