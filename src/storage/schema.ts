/**
 * The tables of the state database. Times are RFC 3339 text in UTC with milliseconds, so that text order is time order;
 * columns that end in `_json` hold JSON text; byte counts and durations are integers.
 */
export interface StateTables {
  readonly _migrations: MigrationsTable
  readonly tokens: TokensTable
  readonly operations: OperationsTable
  readonly plans: PlansTable
  readonly settings: SettingsTable
  readonly idempotency_keys: IdempotencyKeysTable
}

export interface MigrationsTable {
  version: number
  name: string
  applied_at: string
}

export interface TokensTable {
  id: string
  /** SHA-256 of the token, in hex; the token itself is stored nowhere. */
  token_sha256: string
  user_id: string
  role: string
  name: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
}

/** `unknown`: the commit may or may not have happened; a later look at the table decides. */
export type OperationState = 'running' | 'succeeded' | 'failed' | 'cancelled' | 'unknown'

export interface OperationsTable {
  id: string
  kind: string
  table_name: string
  state: OperationState
  requested_by: string
  request_id: string | null
  request_json: string
  plan_json: string | null
  progress_json: string | null
  base_metadata_location: string | null
  /** 64-bit ids are text. */
  base_snapshot_id: string | null
  staged_metadata_location: string | null
  snapshot_id: string | null
  cleanup_json: string | null
  health_before_json: string | null
  health_after_json: string | null
  result_json: string | null
  error_json: string | null
  bytes_read: number | null
  bytes_written: number | null
  duration_ms: number | null
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export interface PlansTable {
  id: string
  kind: string
  table_name: string
  base_metadata_location: string
  request_json: string
  plan_json: string
  created_by: string
  created_at: string
}

export interface SettingsTable {
  key: string
  value_json: string
  /** 1 at first, one more at each change. */
  revision: number
  updated_at: string
}

export interface IdempotencyKeysTable {
  user_id: string
  idempotency_key: string
  method: string
  path: string
  body_sha256: string
  state: string
  status: number | null
  headers_json: string | null
  body: string | null
  created_at: string
}
