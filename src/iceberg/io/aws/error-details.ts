/**
 * A copy of an error of the SDK with its name, message, code and status only. Error responses of object stores repeat
 * session tokens and signed requests, which would reach logs as properties of the error.
 */
export function withoutDetails(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const copy = new Error(error.message)
  copy.name = error.name
  copy.stack = error.stack ?? ''
  if (error.cause !== undefined) copy.cause = withoutDetails(error.cause)
  const status = httpStatusOf(error)
  if (status !== undefined) Object.assign(copy, { $metadata: { httpStatusCode: status } })
  if ('code' in error && typeof error.code === 'string') Object.assign(copy, { code: error.code })
  return copy
}

/** The HTTP status in an error of the SDK; undefined if there was no response. */
export function httpStatusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined
  const metadata: unknown = error.$metadata
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined
}
