/**
 * Why a call to the cluster failed. `exists`: an object of that name exists. `expired`: the version to watch from is
 * too old. `forbidden`: the account lacks permission, a quota is exhausted, or a policy forbids it. `invalid`: the
 * cluster rejected the request as invalid. `timeout`: no answer in time; the request may or may not have been carried
 * out. `unavailable`: the cluster cannot be reached or reports that it is unavailable.
 */
export type ClusterErrorCode = 'exists' | 'expired' | 'forbidden' | 'invalid' | 'timeout' | 'unavailable'

/** A failed call to the cluster. The message comes from the cluster and may name objects, never a secret's content. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError'
  readonly code: ClusterErrorCode

  constructor(code: ClusterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Whether the error is a {@link ClusterError} of this code. */
export function isClusterError(error: unknown, code: ClusterErrorCode): error is ClusterError {
  return error instanceof ClusterError && error.code === code
}
