import { healthBand } from '../../src/domain/tables/health-band.ts'
import type { TableHealth } from '../../src/storage/stores/tables/health-index-store.ts'

/** A row of the health index. */
export function indexRow(name: string, columns: Partial<TableHealth> = {}): TableHealth {
  return {
    table_name: name,
    namespace: name.split('.').slice(0, -1).join('.'),
    table_uuid: `uuid-${name}`,
    metadata_location: `mem:/${name}/1.metadata.json`,
    measured_at: '2026-01-01T00:00:00.000Z',
    score: 90,
    band: healthBand(columns.score === undefined ? 90 : columns.score),
    problem: null,
    data_file_count: 1,
    total_size_bytes: 1,
    small_file_count: 0,
    delete_file_count: 0,
    equality_delete_file_count: 0,
    deleted_ppm: 0,
    snapshot_count: 1,
    manifest_count: 1,
    partition_count: 1,
    record_count: 1,
    held_bytes: 0,
    sequence_number: 1,
    newest_snapshot_ms: null,
    last_commit_ms: null,
    freshness_target: null,
    freshness_ms: null,
    is_stale: false,
    is_unhealthy: false,
    is_off: false,
    actions_json: '[]',
    ...columns,
  }
}
