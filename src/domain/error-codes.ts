import { ICEBERG_ERROR_CODES } from '../iceberg/errors.ts'

/** What the service refuses on its own account, beyond the errors of the table format. */
const SERVICE_ERROR_CODES = [
  'INVALID_REQUEST', // malformed, wrong type, missing or unknown field
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'UPGRADE_REQUIRED', // a WebSocket endpoint was called without an upgrade
  'CONFLICT',
  'PIPELINE_BEHIND', // a pipeline has not read the values of a column that the change would drop
  'PLAN_STALE', // the table has changed since the plan was made
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'HEADERS_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'UNPROCESSABLE',
  'PRECONDITION_FAILED', // the resource has another version than the one the caller read
  'RATE_LIMITED',
  'ENGINE_BUSY', // too many queries are waiting
  'IDENTITY_UNAVAILABLE', // the token issuer does not answer
  'STATE_UNAVAILABLE', // the state database cannot be used
  'INVALID_GRAPH', // nodes and edges do not form a pipeline
  'UNSUPPORTED_FORMAT_VERSION', // the document was exported by a newer system
  'MANAGED', // the files of an owner describe the object, or nobody's do
  'DEFINITION_LOCKED', // the environments of its versions forbid the change
  'INVALID_TRANSITION', // the version cannot move there from its environment
  'APPROVAL_PENDING', // the version waits for a decision
  'APPROVAL_NOT_PENDING', // the request has been decided
  'ALREADY_APPROVED', // the user has approved the request before
  'SELF_APPROVAL', // the requester may not decide
  'CONTENT_CHANGED', // the stored content differs from what approval was requested for
  'ACTION_NOT_PENDING', // the action that the agent proposed was decided or has expired
  'MODEL_UNAVAILABLE', // the model provider failed or refused
  'MODEL_BUSY', // the model provider has no capacity now
  'MODEL_TIMEOUT', // the model provider did not answer in time
  'CLUSTER_UNAVAILABLE', // the container cluster cannot be reached or is not ready
  'CLUSTER_TIMEOUT', // the container cluster did not answer or finish in time
  'CLUSTER_REFUSED', // a quota, a policy or a missing permission in the container cluster
  'CATALOG_NOT_CONFIGURED',
  'SHUTTING_DOWN',
  'NOTEBOOK_FAILED',
  'NOTEBOOK_NOT_READY',
  'NOTEBOOK_TIMEOUT',
  'INTERNAL',
] as const

/** Every code that an error of the API can carry; the OpenAPI document lists them in this order. */
export const ERROR_CODES = [...SERVICE_ERROR_CODES, ...ICEBERG_ERROR_CODES] as const

/** One of {@link ERROR_CODES}. */
export type ErrorCode = (typeof ERROR_CODES)[number]

/** Codes that only the HTTP layer and the notebook proxy give. */
type HttpOnlyCode =
  | 'METHOD_NOT_ALLOWED'
  | 'UPGRADE_REQUIRED'
  | 'REQUEST_TIMEOUT'
  | 'PAYLOAD_TOO_LARGE'
  | 'HEADERS_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'STATE_UNAVAILABLE'
  | 'NOTEBOOK_FAILED'
  | 'NOTEBOOK_NOT_READY'
  | 'NOTEBOOK_TIMEOUT'
  | 'INTERNAL'

/** What a service may throw as a `DomainError`. */
export type DomainErrorCode = Exclude<(typeof SERVICE_ERROR_CODES)[number], HttpOnlyCode>
