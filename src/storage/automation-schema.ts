/** The health index: the latest known health of each table of the catalog. */
export interface TableHealthTable {
  table_name: string
  namespace: string
  /** Of a table without a uuid (format version 1): its location. */
  table_uuid: string
  /** The metadata file that was measured. */
  metadata_location: string
  measured_at: string
  /** NULL when the table could not be read; then the counts are 0. */
  score: number | null
  band: string
  problem: string | null
  data_file_count: number
  total_size_bytes: number
  small_file_count: number
  delete_file_count: number
  /** Of these, files with equality deletes. */
  equality_delete_file_count: number
  /** Deleted records per million records. */
  deleted_ppm: number
  snapshot_count: number
  manifest_count: number
  partition_count: number
  record_count: number
  held_bytes: number
  /**
   * Grows by one with each commit that adds a snapshot: the table's last sequence number, or the snapshots that the
   * index has counted, because tables of format version 1 have no sequence numbers.
   */
  sequence_number: number
  /** The time of the newest snapshot, ms since the epoch; NULL without snapshots. */
  newest_snapshot_ms: number | null
  /** The last commit that changed rows. */
  last_commit_ms: number | null
  freshness_target: string | null
  freshness_ms: number | null
  /** 0 or 1, as the next two; stores read and write booleans (`flag-columns.ts`). */
  is_stale: number
  is_unhealthy: number
  is_off: number
  actions_json: string
}

/** How the health of a table changed; the last sample of a slot is kept. */
export interface TableHealthSamplesTable {
  table_uuid: string
  kind: 'commit' | 'day'
  /** A minute or a day, as the start of an RFC 3339 time. */
  slot: string
  at: string
  score: number
  data_file_count: number
  total_size_bytes: number
  small_file_count: number
  delete_file_count: number
  snapshot_count: number
}

/** Work that one process at a time does, by its name. */
export interface LeasesTable {
  name: string
  /** See `InstancesTable`. */
  owner: number
  until_ms: number
}

export interface PoliciesTable {
  id: string
  name: string
  settings_json: string
  managed_by: string | null
  /** Starts at 1; each change increases it by one. */
  revision: number
  created_by: string
  created_at: string
  updated_at: string
}

/** What a policy decided about an operation on a table; at most one per table is `running`, enforced by an index. */
export interface PolicyDecisionsTable {
  id: string
  policy_id: string
  policy_name: string
  table_name: string
  operation: string
  outcome: string
  reason: string
  detail: string
  operation_id: string | null
  /** The process that runs it; see `InstancesTable`. */
  instance_id: number | null
  planned_bytes: number | null
  projected_score: number | null
  score_before: number | null
  score_after: number | null
  files_removed: number | null
  delete_files_removed: number | null
  bytes_freed: number | null
  bytes_rewritten: number | null
  storage_freed_bytes: number | null
  /** What the plan expected of the three figures above; NULL without a receipt. */
  projected_files_removed: number | null
  projected_delete_files_removed: number | null
  projected_bytes_freed: number | null
  /** By how much planning a full scan became shorter, in microseconds. */
  planning_saved_us: number | null
  /** How many files fewer a full scan opens. */
  scan_requests_saved: number | null
  not_before: string | null
  /** How often in a row it was decided like this. */
  repeated: number
  created_at: string
  updated_at: string
}

/** What a policy knows of one of its operations on a table; times in ms since the epoch. */
export interface PolicyTableStatesTable {
  policy_id: string
  table_name: string
  operation: string
  /** The table that had the name; another table of the name begins anew. NULL: stored before uuids were, so any table. */
  table_uuid: string | null
  last_run_ms: number | null
  /** The table's sequence number after the last run. */
  last_sequence: number | null
  /** When its schedule was last acted upon. */
  considered_ms: number | null
  /** It is not considered before this time. */
  not_before_ms: number | null
  /** Runs in a row that changed nothing. */
  without_effect: number
  /** Runs in a row that failed. */
  failures: number
  is_suspended: number
  /** The last decision. */
  decision_id: string | null
}

export interface AlertsTable {
  id: string
  name: string
  /** With the secrets of its channel, which it needs for sending. */
  settings_json: string
  silenced_until: string | null
  /** Events up to this one are evaluated. */
  since_seq: number
  managed_by: string | null
  /** Starts at 1; each change of the settings increases it by one. */
  revision: number
  created_by: string
  created_at: string
  updated_at: string
}

/** A condition that an alert knows of: an opening event whose closing event has not come yet. */
export interface AlertConditionsTable {
  alert_id: string
  condition_key: string
  /** The opening event. */
  event_seq: number
  /** `waiting`: its newest opening event is not sent yet. */
  state: 'waiting' | 'open'
  /** 1 when one of its opening events was sent; 0 when the alert was silenced at that time. */
  is_told: number
  /** When a waiting condition is notified. */
  due_ms: number
}

/** When an alert last notified of an object, and how many events it has held back since. */
export interface AlertCooldownsTable {
  alert_id: string
  object_key: string
  notified_ms: number
  held_back: number
}

export interface AlertDeliveriesTable {
  id: string
  alert_id: string
  kind: 'trigger' | 'resolve' | 'test'
  /** The condition that it is about; deliveries of one condition are sent in the order of their events. */
  condition_key: string | null
  /** NULL for a test. */
  event_seq: number | null
  /** How many events before this one were held back. */
  held_back: number
  state: 'pending' | 'delivered' | 'failed' | 'silenced'
  attempts: number
  next_attempt_at: string | null
  last_status: number | null
  last_error: string | null
  created_at: string
  finished_at: string | null
}

/** What one operation put into quarantine. */
export interface QuarantineEntriesTable {
  id: string
  operation_id: string
  requested_by: string
  reason: 'expire' | 'remove_orphans'
  table_name: string
  table_uuid: string
  /** What an expiry removed from the metadata, as lossless JSON; NULL for orphan files, and once it is settled. */
  history_json: string | null
  snapshot_count: number
  file_count: number
  byte_count: number
  state: 'held' | 'restoring' | 'restored' | 'purging' | 'purged'
  held_until: string
  /** Why the last attempt to delete the files failed. */
  problem: string | null
  created_at: string
  settled_at: string | null
}

export interface QuarantineFilesTable {
  entry_id: string
  location: string
  /** Where the file was moved to; NULL where the store cannot move files. */
  held_at: string | null
  size_bytes: number
  modified_at_ms: number
}

/** A report of a client's scan or commit. */
export interface TableReportsTable {
  id: string
  table_name: string
  kind: string
  reported_by: string
  /** As the client sent it. */
  report_json: string
  created_at: string
}
