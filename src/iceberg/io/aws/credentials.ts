import type { CredentialSource } from '../objects/credential-source.ts'

/** Keys that sign requests to AWS and compatible services. Kept in memory only. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken?: string
  /** When a service stops accepting them, in ms since the epoch; undefined if they stay valid or nobody knows. */
  readonly expiresAtMs?: number
}

/** Where the keys of requests come from. */
export type AwsCredentialSource = CredentialSource<AwsCredentials>
