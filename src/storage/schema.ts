import type { AuditChannel, AuditOutcome } from '../domain/audit.ts'
import type {
  AlertConditionsTable,
  AlertCooldownsTable,
  AlertDeliveriesTable,
  AlertsTable,
  LeasesTable,
  PoliciesTable,
  PolicyDecisionsTable,
  PolicyTableStatesTable,
  QuarantineEntriesTable,
  QuarantineFilesTable,
  TableHealthSamplesTable,
  TableHealthTable,
  TableReportsTable,
} from './automation-schema.ts'

/**
 * The tables of the state database. Times are RFC 3339 text in UTC with milliseconds, so that text order is time order;
 * columns that end in `_json` hold JSON text; byte counts and durations are integers.
 */
export interface StateTables {
  readonly _migrations: MigrationsTable
  readonly tokens: TokensTable
  readonly operations: OperationsTable
  readonly plans: PlansTable
  readonly settings: SettingsTable
  readonly idempotency_keys: IdempotencyKeysTable
  readonly audit_events: AuditEventsTable
  readonly audit_head: AuditHeadTable
  readonly events: EventsTable
  readonly sessions: SessionsTable
  readonly begun_sign_ins: BegunSignInsTable
  readonly provider_sessions: ProviderSessionsTable
  readonly instances: InstancesTable
  readonly streaming_pipelines: StreamingPipelinesTable
  readonly pipeline_samples: PipelineSamplesTable
  readonly pipeline_definitions: PipelineDefinitionsTable
  readonly pipeline_versions: PipelineVersionsTable
  readonly approval_requests: ApprovalRequestsTable
  readonly approval_votes: ApprovalVotesTable
  readonly approval_comments: ApprovalCommentsTable
  readonly agent_chats: AgentChatsTable
  readonly agent_turns: AgentTurnsTable
  readonly agent_actions: AgentActionsTable
  readonly agent_usage: AgentUsageTable
  readonly notebook_sessions: NotebookSessionsTable
  readonly notebook_ended_sessions: NotebookEndedSessionsTable
  readonly notebook_handovers: NotebookHandoversTable
  readonly environments: EnvironmentsTable
  readonly deployments: DeploymentsTable
  readonly deployment_history: DeploymentHistoryTable
  readonly table_health: TableHealthTable
  readonly table_health_samples: TableHealthSamplesTable
  readonly table_reports: TableReportsTable
  readonly leases: LeasesTable
  readonly alerts: AlertsTable
  readonly alert_conditions: AlertConditionsTable
  readonly alert_cooldowns: AlertCooldownsTable
  readonly alert_deliveries: AlertDeliveriesTable
  readonly policies: PoliciesTable
  readonly policy_decisions: PolicyDecisionsTable
  readonly policy_table_states: PolicyTableStatesTable
  readonly quarantine_entries: QuarantineEntriesTable
  readonly quarantine_files: QuarantineFilesTable
}

export interface MigrationsTable {
  version: number
  name: string
  applied_at: string
}

export interface TokensTable {
  id: string
  /** SHA-256 of the token, in hex; the token itself is not stored. */
  token_sha256: string
  user_id: string
  role: string
  name: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  /** The session of the user's notebook that the token belongs to, and ends with. */
  notebook_session: string | null
}

/** `unknown`: the commit may or may not have happened; a later check of the table decides. */
export type OperationState = 'running' | 'succeeded' | 'failed' | 'cancelled' | 'unknown'

export interface OperationsTable {
  id: string
  kind: string
  table_name: string
  state: OperationState
  requested_by: string
  request_id: string | null
  request_json: string
  plan_json: string | null
  progress_json: string | null
  base_metadata_location: string | null
  /** 64-bit ids are text. */
  base_snapshot_id: string | null
  staged_metadata_location: string | null
  snapshot_id: string | null
  cleanup_json: string | null
  health_before_json: string | null
  health_after_json: string | null
  result_json: string | null
  receipt_json: string | null
  error_json: string | null
  bytes_read: number | null
  bytes_written: number | null
  duration_ms: number | null
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** The process that runs it; see {@link InstancesTable}. */
  instance_id: number | null
  group_id: string | null
}

export interface PlansTable {
  id: string
  kind: string
  table_name: string
  base_metadata_location: string
  request_json: string
  plan_json: string
  created_by: string
  created_at: string
}

export interface SettingsTable {
  key: string
  value_json: string
  /** Starts at 1; each change increases it by one. */
  revision: number
  updated_at: string
}

export interface IdempotencyKeysTable {
  user_id: string
  idempotency_key: string
  method: string
  path: string
  body_sha256: string
  state: string
  status: number | null
  headers_json: string | null
  body: string | null
  created_at: string
  /** The process that handles it; see {@link InstancesTable}. */
  instance_id: number | null
  /** Id of the request that claimed the key; the audit log shows by it whether the request had its effect. */
  request_id: string | null
}

/** Append-only, enforced by triggers; each row's hash covers the row and the previous hash. */
export interface AuditEventsTable {
  /** 1..n without gaps. */
  seq: number
  at: string
  /** NULL: an anonymous caller, or the service itself (channel `system`). */
  actor: string | null
  role: string | null
  channel: AuditChannel
  action: string
  object_type: string
  object_id: string | null
  outcome: AuditOutcome
  request_id: string | null
  details_json: string
  prev_hash: string
  hash: string
}

/** The last row of the audit log, signed with a key that is not in the database; one row with id 1. */
export interface AuditHeadTable {
  id: number
  seq: number
  hash: string
  mac: string
}

/** The event log: sequence numbers follow the order of commits, without gaps. */
export interface EventsTable {
  seq: number
  at: string
  type: string
  object_type: string
  object_id: string
  data_json: string
}

export interface SessionsTable {
  /** SHA-256 of the cookie's value, in hex. */
  id_sha256: string
  user_id: string
  role: string
  /** The Lockhouse token that opened the session, which ends with it; NULL for a JWT. */
  token_sha256: string | null
  created_at: string
  last_used_at: string
  /** When the credential that opened the session expires, if it does. */
  expires_at: string | null
  /** The user's groups; NULL when the sign-in has none. */
  groups_json: string | null
}

/** A sign-in at the identity provider that a browser has begun. */
export interface BegunSignInsTable {
  state_sha256: string
  /** SHA-256 of the browser's cookie, in hex. */
  browser_sha256: string
  redirect_uri: string
  return_to: string
  expires_at: string
}

/** How long an identity provider lets a session last. */
export interface ProviderSessionsTable {
  id_sha256: string
  kind: 'browser' | 'command-line'
  subject: string
  provider_sid: string | null
  sealed_refresh_token: string | null
  refresh_at: string
  access_ends_at: string
  refreshing_until: string | null
}

/** The processes that have used this database. */
export interface InstancesTable {
  id: number
  started_at: string
}

export interface PipelineDefinitionsTable {
  id: string
  name: string
  description: string
  /** The owner whose files describe it; names are unique per owner. */
  managed_by: string | null
  created_by: string
  created_at: string
  updated_at: string
  /** Starts at 1; each change of the definition, or of its versions' environments, increases it by one. */
  revision: number
}

/** Only `environment` and `updated_at` ever change. */
export interface PipelineVersionsTable {
  id: string
  definition_id: string
  /** 1..n in a definition, without gaps. */
  version: number
  format_version: number
  environment: string
  /** SHA-256 of the canonical graph, in hex. */
  content_hash: string
  node_count: number
  edge_count: number
  created_by: string
  created_at: string
  updated_at: string
  graph_json: string
}

/** A version has at most one pending request, enforced by a partial unique index. */
export interface ApprovalRequestsTable {
  id: string
  definition_id: string
  /** The name at the time of the request. */
  definition_name: string
  version_id: string
  version: number
  from_environment: string
  to_environment: string
  status: string
  requested_by: string
  requested_at: string
  decided_by: string | null
  decided_at: string | null
  reason: string | null
  /** Of the requested version; see {@link PipelineVersionsTable}. */
  content_hash: string
  /** The newest version in the target environment at the decision; NULL before, and when there was none. */
  base_version_id: string | null
  /** The version at the time of the request. */
  snapshot_json: string
  /** Since when a pending request has its approvals and waits for a window; NULL: it does not wait. */
  waiting_since: string | null
  /** Who did not wait for the window, and why. */
  override_json: string | null
}

/** The approvals of requests; each user has at most one per request. */
export interface ApprovalVotesTable {
  request_id: string
  approver: string
  approved_at: string
}

export interface ApprovalCommentsTable {
  id: string
  request_id: string
  author: string
  comment: string
  created_at: string
}

/** Triggers of a pipeline in a span of time, thinned. */
export interface PipelineSamplesTable {
  pipeline_id: string
  /** The times of the first and the last trigger. */
  from_at: string
  to_at: string
  /** The span is a minute, or an hour of which less stays. */
  span: 'minute' | 'hour'
  points_json: string
}

/** States of a pipeline's run (docs/api.md#streaming-pipelines). */
export type PipelineState = 'starting' | 'running' | 'degraded' | 'stopping' | 'stopped' | 'failed'

export interface StreamingPipelinesTable {
  id: string
  /** New at every start. */
  run_id: string
  /** The id in the checkpoint's `metadata`, which Spark calls the query id. */
  query_id: string
  sources_json: string
  sink_table: string
  /** A `file:` URI or object location, normalised. */
  checkpoint_location: string
  trigger_interval: string
  trigger_ms: number
  options_json: string
  desired_state: 'running' | 'stopped'
  state: PipelineState
  error_json: string | null
  warnings_json: string
  /** The read positions of the sources. */
  positions_json: string | null
  progress_json: string | null
  definition_id: string | null
  version_id: string | null
  created_by: string
  created_at: string
  started_at: string | null
  stopped_at: string | null
  /** The sink table while the pipeline is live; unique, so that two live pipelines cannot share a sink. */
  live_sink: string | null
  /** The process that runs it; see {@link InstancesTable}. */
  lease_owner: number | null
  /** ms since the epoch; an earlier lease has expired. */
  lease_until_ms: number | null
  /** The last failure of a pipeline that was reported as degraded and not as recovered yet, ms since the epoch. */
  degraded_at_ms: number | null
  /** The environment whose parameters it uses; null when it was started without a version. */
  environment: string | null
  /** The parameters at its start, as configured: secrets only as `env:NAME`. */
  parameters_json: string | null
  engine: 'embedded' | 'spark'
  /** How to reach its query in Spark; null: Spark certainly runs none. */
  spark_json: string | null
}

/** Settings of an environment; without a row it has the defaults. */
export interface EnvironmentsTable {
  environment: string
  settings_json: string
  managed_by: string | null
  /** Starts at 1; each change increases it by one. */
  revision: number
  updated_at: string
}

/** What should run and what runs of a definition in an environment. */
export interface DeploymentsTable {
  definition_id: string
  environment: string
  /** The state as last recorded; what has changed since is compared when it is read. */
  state: string
  /** Null: nothing should run. */
  desired_version_id: string | null
  running_version_id: string | null
  pipeline_id: string | null
  reason: string | null
  /** The rollout in progress; null when there is none. */
  rollout_json: string | null
  /** The newest version and the settings of the environment when the state was recorded. */
  basis_json: string | null
  /** The deployment that may be rolled back by itself; null: none. */
  guard_json: string | null
  /** Starts at 1; each change increases it by one. */
  revision: number
  updated_at: string
  /** The process that carries out the rollout; see {@link InstancesTable}. */
  lease_owner: number | null
  lease_until_ms: number | null
}

/** A deploy, undeploy or rollback, and how it ended. */
export interface DeploymentHistoryTable {
  id: string
  definition_id: string
  environment: string
  action: string
  outcome: string
  version_id: string | null
  previous_version_id: string | null
  parameters_json: string | null
  reason: string | null
  started_by: string
  started_at: string
  ended_at: string | null
  /** Who did not wait for the window, and why. */
  override_json: string | null
}

/** A conversation of one user with the agent. */
export interface AgentChatsTable {
  id: string
  user_id: string
  /** The start of its first prompt. */
  title: string
  turn_count: number
  created_at: string
  updated_at: string
}

/** One prompt and its result. */
export interface AgentTurnsTable {
  chat_id: string
  /** 1..n in a chat. */
  seq: number
  created_at: string
  provider: string
  model: string
  steps: number
  stop_reason: string
  usage_json: string
  duration_ms: number
  request_id: string
  prompt: string
  response: string
  pending_actions_json: string
  tool_calls_json: string
}

/** `pending` may have expired; `running`: confirmed by its user and not finished. */
export type AgentActionState = 'pending' | 'running' | 'done' | 'failed' | 'dismissed'

/** A change that the agent proposed and that only its user can confirm. */
export interface AgentActionsTable {
  id: string
  /** NULL: proposed outside of a chat. */
  chat_id: string | null
  user_id: string
  tool: string
  state: AgentActionState
  summary: string
  arguments_json: string
  plan_json: string
  created_at: string
  expires_at: string
  decided_at: string | null
  finished_at: string | null
  result_json: string | null
  error_json: string | null
  /** The process that runs it; see {@link InstancesTable}. */
  instance_id: number | null
}

/** Tokens used by a user's chats on a day (UTC, `2026-11-20`). */
export interface AgentUsageTable {
  user_id: string
  day: string
  tokens: number
}

/** A session or ticket on the host of a notebook. */
export interface NotebookHandoversTable {
  /** SHA-256 of the ticket or cookie, in hex. */
  secret_sha256: string
  kind: 'ticket' | 'cookie'
  /** The only host on which it is valid. */
  host: string
  /** The browser session that it stands for, and ends with. */
  session_sha256: string
  expires_at: string
}

/** A user's notebook; only the cluster knows whether it is still running. */
export interface NotebookSessionsTable {
  user_id: string
  session: string
  pod_name: string
  pod_uid: string
  token_id: string | null
  token_expires_at: string | null
  started_at: string
  active_at: string
  stops_at: string | null
}

/** A notebook that has ended, and that no start may record again. */
export interface NotebookEndedSessionsTable {
  user_id: string
  session: string
  ended_at: string
}
