import type { IcebergErrorCode } from '../../../iceberg/errors.ts'
import type { ManifestFile } from '../../../iceberg/manifest/manifest.ts'
import type { ManifestTotals, TotalsPartitioning } from '../../../iceberg/manifest/totals.ts'

/** A manifest to decode; `bytes` are moved to the thread. */
export interface DecodeRequest {
  readonly id: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly manifest: ManifestFile
  readonly partitioning: TotalsPartitioning
}

/** The answer to the request of that id. */
export type DecodeReply =
  | { readonly id: number; readonly totals: ManifestTotals }
  | { readonly id: number; readonly code: IcebergErrorCode; readonly message: string }
  /** The error of a defect, which the process that asked meets again. */
  | { readonly id: number; readonly failed: string }
