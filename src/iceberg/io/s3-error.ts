import { S3ServiceException } from '@aws-sdk/client-s3'
import { IcebergError } from '../errors.ts'
import type { IoAttempt } from './io-error.ts'

/**
 * Turns the error of a request to an object store into an `IcebergError`: `FILE_NOT_FOUND`, `FILE_EXISTS`,
 * `NO_SPACE`, or `IO_FAILED` with a message that says what to do. Returns an `IcebergError` unchanged.
 */
export function toS3Error(error: unknown, { action, location }: IoAttempt): IcebergError {
  if (error instanceof IcebergError) return error
  const options = { cause: error }
  const name = error instanceof Error ? error.name : ''
  if (name === 'NoSuchBucket') {
    return new IcebergError('IO_FAILED', `Could not ${action} ${location}: there is no such bucket.`, options)
  }
  switch (statusOf(error)) {
    case 404:
      return new IcebergError('FILE_NOT_FOUND', `There is no file ${location}.`, options)
    case 412:
      return new IcebergError('FILE_EXISTS', `The file ${location} already exists.`, options)
    case 507:
      return new IcebergError('NO_SPACE', `No space is left to write ${location}; free some and try again.`, options)
    default:
      return new IcebergError('IO_FAILED', `Could not ${action} ${location}: ${reasonOf(error)}.`, options)
  }
}

/** The HTTP status that a server answered with, or undefined when there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

/** Whether the same request may succeed if sent again: no response, a busy server, or concurrent requests. */
export function isTransient(error: unknown): boolean {
  if (error instanceof IcebergError || (error instanceof Error && error.name === 'CredentialsProviderError'))
    return false
  const status = statusOf(error)
  if (status === undefined) return true
  if (status === 409) return error instanceof Error && error.name === 'ConditionalRequestConflict'
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 507)
}

function reasonOf(error: unknown): string {
  const status = statusOf(error)
  const name = error instanceof Error ? error.name : ''
  if (name === 'CredentialsProviderError') {
    return 'there are no credentials; set s3.access-key-id and s3.secret-access-key, or the AWS environment variables'
  }
  if (status === 401 || status === 403) return `${name}; check the credentials and their permissions`
  if (status === 301 || status === 307) return 'the bucket is in another region; set s3.region'
  if (status !== undefined) return `the object store answered ${status} ${name}`.trimEnd()
  return 'the object store does not respond; check s3.endpoint and the network'
}
