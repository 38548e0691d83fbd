import type { ErrorCode } from '../../domain/error-codes.ts'
import type { Problem } from '../../schemas/common.ts'

/** Status and exception name of the codes for which the protocol has its own; the others keep their status. */
const MODELS: Readonly<Partial<Record<ErrorCode, readonly [status: number, type: string]>>> = {
  NO_SUCH_NAMESPACE: [404, 'NoSuchNamespaceException'],
  NO_SUCH_TABLE: [404, 'NoSuchTableException'],
  FILE_NOT_FOUND: [404, 'NotFoundException'],
  NAMESPACE_EXISTS: [409, 'AlreadyExistsException'],
  NAMESPACE_NOT_EMPTY: [409, 'NamespaceNotEmptyException'],
  TABLE_EXISTS: [409, 'AlreadyExistsException'],
  TABLES_OVERLAP: [409, 'AlreadyExistsException'],
  COMMIT_CONFLICT: [409, 'CommitFailedException'],
  // clients must not delete the files of such a commit: they know it by status 500
  COMMIT_STATE_UNKNOWN: [500, 'CommitStateUnknownException'],
  UNSUPPORTED: [406, 'UnsupportedOperationException'],
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'BadRequestException',
  401: 'NotAuthorizedException',
  403: 'ForbiddenException',
  404: 'NotFoundException',
  405: 'UnsupportedOperationException',
  409: 'ConflictException',
  413: 'BadRequestException',
  422: 'UnprocessableEntityException',
  429: 'TooManyRequestsException',
  503: 'ServiceUnavailableException',
}

/** A problem document as the error model of the Iceberg REST specification. */
export function errorModel({ code, status, detail }: Problem): { readonly status: number; readonly body: string } {
  const [itsStatus, type] = MODELS[code] ?? [status, TYPES[status] ?? 'InternalServerError']
  return { status: itsStatus, body: JSON.stringify({ error: { message: detail, type, code: itsStatus } }) }
}
