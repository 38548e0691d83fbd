import type { JsonObject } from '../json/lossless-json.ts'

/** A change to table metadata, in the wire shape of the Iceberg REST spec (`TableUpdate`); 64-bit ids are bigint. */
export type TableUpdate =
  | { readonly action: 'assign-uuid'; readonly uuid: string }
  | { readonly action: 'upgrade-format-version'; readonly 'format-version': number }
  | { readonly action: 'add-schema'; readonly schema: JsonObject }
  | { readonly action: 'set-current-schema'; readonly 'schema-id': number } // -1: the last added
  | { readonly action: 'add-spec'; readonly spec: JsonObject }
  | { readonly action: 'set-default-spec'; readonly 'spec-id': number } // -1: the last added
  | { readonly action: 'add-sort-order'; readonly 'sort-order': JsonObject }
  | { readonly action: 'set-default-sort-order'; readonly 'sort-order-id': number } // -1: the last added
  | { readonly action: 'add-snapshot'; readonly snapshot: JsonObject }
  | ({ readonly action: 'set-snapshot-ref'; readonly 'ref-name': string } & JsonObject)
  | { readonly action: 'remove-snapshots'; readonly 'snapshot-ids': readonly bigint[] }
  | { readonly action: 'remove-snapshot-ref'; readonly 'ref-name': string }
  | { readonly action: 'set-location'; readonly location: string }
  | { readonly action: 'set-properties'; readonly updates: Readonly<Record<string, string>> }
  | { readonly action: 'remove-properties'; readonly removals: readonly string[] }
  | { readonly action: 'set-statistics'; readonly statistics: JsonObject }
  | { readonly action: 'set-partition-statistics'; readonly 'partition-statistics': JsonObject }
  | { readonly action: 'remove-statistics'; readonly 'snapshot-id': bigint }
  | { readonly action: 'remove-partition-statistics'; readonly 'snapshot-id': bigint }
  | { readonly action: 'remove-partition-specs'; readonly 'spec-ids': readonly number[] }
  | { readonly action: 'remove-schemas'; readonly 'schema-ids': readonly number[] }
  | RestoreSnapshots

/**
 * Puts back what an expiry removed, each entry as it was. Not part of the REST spec, whose `add-snapshot` refuses old sequence
 * numbers: only for catalogs whose metadata files are written here.
 */
export type RestoreSnapshots = { readonly action: 'restore-snapshots' } & RemovedHistory

/** Entries of a metadata document that an expiry removed, in the form of the document. */
export interface RemovedHistory {
  readonly snapshots: readonly JsonObject[]
  readonly 'snapshot-log': readonly JsonObject[]
  readonly statistics: readonly JsonObject[]
  readonly 'partition-statistics': readonly JsonObject[]
  readonly schemas: readonly JsonObject[]
  readonly 'partition-specs': readonly JsonObject[]
}

/** What must still hold when a change is committed (Iceberg REST spec, `TableRequirement`). */
export type TableRequirement =
  | { readonly type: 'assert-create' }
  | { readonly type: 'assert-table-uuid'; readonly uuid: string }
  | { readonly type: 'assert-ref-snapshot-id'; readonly ref: string; readonly 'snapshot-id': bigint | null }
  | { readonly type: 'assert-last-assigned-field-id'; readonly 'last-assigned-field-id': number }
  | { readonly type: 'assert-current-schema-id'; readonly 'current-schema-id': number }
  | { readonly type: 'assert-last-assigned-partition-id'; readonly 'last-assigned-partition-id': number }
  | { readonly type: 'assert-default-spec-id'; readonly 'default-spec-id': number }
  | { readonly type: 'assert-default-sort-order-id'; readonly 'default-sort-order-id': number }

/** A staged change: files are written, nothing is visible yet. */
export interface StagedChange {
  readonly requirements: readonly TableRequirement[]
  readonly updates: readonly TableUpdate[]
  /** Metadata files (manifests, manifest list) written for this attempt; deleted only when it definitely failed. */
  readonly writtenFiles: readonly string[]
}
