/**
 * What a cluster answers when it does not do what it is asked. `exists`: there is one of that name. `expired`: the
 * version to watch from is too old. `forbidden`: the account may not, a quota is full, or a policy forbids it.
 * `invalid`: it calls the request wrong. `timeout`: no answer in time, and the request may have been carried out or
 * not. `unavailable`: it cannot be reached, or says that it cannot now.
 */
export type ClusterErrorCode = 'exists' | 'expired' | 'forbidden' | 'invalid' | 'timeout' | 'unavailable'

/** A failed call to the cluster; the message is the cluster's own and may name objects, never a secret's content. */
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
