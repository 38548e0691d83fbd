import { DomainError, type FieldError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { requireNamedObjects, textsOf } from '../../services/identity/access/named-objects.ts'
import { requireUnlimited } from '../../services/identity/access/require-access.ts'
import { withoutHiddenTables } from '../../services/identity/access/without-hidden-tables.ts'
import type { PendingActionView } from './proposed-action.ts'
import { capResult } from './cap-result.ts'
import { redactJson, redactValue } from '../redaction/redact-value.ts'
import { toStoredJson } from './stored-value.ts'
import { parseArguments, shownArguments } from './tool-arguments.ts'
import type { AgentTool, ChangeTool, ToolRun } from './tool.ts'

/** The outcome of a tool call. */
export interface ToolOutcome {
  readonly ok: boolean
  /**
   * JSON of at most 16 KB, in which everything that comes from tables is below `data`, marked as untrusted:
   * `{untrusted, truncated, data}` or `{untrusted, error: {code, message, errors?}}`.
   */
  readonly resultJson: string
  /** The parsed arguments, as JSON. */
  readonly argumentsJson: string
  /** Whether the arguments were invalid, so that the model can correct them. */
  readonly invalidArguments: boolean
  /** The change that now needs the user's confirmation. */
  readonly pendingAction?: PendingActionView
}

const MAX_ERROR_TEXT = 500

interface ToolError {
  readonly code: string
  readonly message: string
  readonly errors?: readonly FieldError[]
}

/**
 * Calls a tool on behalf of a user: checks arguments and role, runs it, removes secrets, limits the size, writes the
 * audit entry. A change tool only plans, and creates an action that needs the user's confirmation. Throws only when the
 * signal is aborted or the audit entry cannot be written.
 *
 * `rawArguments` is JSON text or an object, as providers send either.
 */
export async function runTool(tool: AgentTool, rawArguments: unknown, run: ToolRun): Promise<ToolOutcome> {
  const args = parseArguments(tool, rawArguments)
  const { redact } = run.services
  if (!('value' in args)) {
    const argumentsJson = redactJson(shownArguments(rawArguments), redact)
    return finish(tool, run, { error: { code: 'INVALID_ARGUMENTS', ...args }, argumentsJson, invalidArguments: true })
  }
  const argumentsJson = JSON.stringify(redactValue(args.value, redact))
  if (!hasRole(run.caller.role, tool.minRole)) {
    const message = `${tool.name} needs the role ${tool.minRole}, the caller is ${run.caller.role}`
    return finish(tool, run, { error: { code: 'FORBIDDEN', message }, argumentsJson, subject: subjectOf(args.value) })
  }
  const subject = subjectOf(args.value)
  try {
    await requireToolReach(tool, args.value, run.caller)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked by the tool's own schema
    const value = args.value as never
    if (tool.risk === 'read')
      return await finish(tool, run, { data: await tool.run(value, run), argumentsJson, subject })
    return await finish(tool, run, { ...(await propose(tool, value, run)), argumentsJson, subject })
  } catch (error) {
    run.signal.throwIfAborted()
    const shown = withoutHiddenTables(error, { caller: run.caller, named: textsOf(args.value).map(([, text]) => text) })
    return finish(tool, run, { error: describeError(shown, tool, run), argumentsJson, subject })
  }
}

/** Requires the tool's role on what the arguments name; also before a confirmed action is applied. */
export async function requireToolReach(
  { reach, minRole }: Pick<AgentTool, 'reach' | 'minRole'>,
  args: unknown,
  caller: Caller,
): Promise<void> {
  if (reach === undefined) requireUnlimited(caller)
  await requireNamedObjects(caller, args, minRole)
}

async function propose(tool: ChangeTool, args: never, run: ToolRun) {
  const { action, ...planned } = await tool.plan(args, run)
  run.signal.throwIfAborted()
  // The action itself stays unchanged; its summary and plan may quote comments and names that contain secrets.
  const summary = run.services.redact(planned.summary)
  const plan = toStoredJson(redactValue(planned.plan, (text) => run.services.redact(text)))
  if (action === undefined) return { data: { summary, plan, nothing_to_do: true } }
  const pendingAction = await run.services.propose(
    { tool: tool.name, summary, plan, ...action },
    { caller: run.caller, requestId: run.requestId, channel: run.channel ?? 'agent', chatId: run.chatId },
  )
  const { id, expires_at } = pendingAction
  const note = 'Nothing has been changed. The user has to confirm this action; it cannot be confirmed by a tool.'
  return { data: { summary, plan, pending_action: { id, expires_at }, note }, pendingAction }
}

interface Finish {
  readonly argumentsJson: string
  readonly subject?: string | undefined
  readonly data?: unknown
  readonly error?: ToolError
  readonly invalidArguments?: boolean
  readonly pendingAction?: PendingActionView
}

async function finish(tool: AgentTool, run: ToolRun, input: Finish): Promise<ToolOutcome> {
  const { error, data, argumentsJson, pendingAction } = input
  const { services } = run
  const redact = (text: string): string => services.redact(text)
  const resultJson =
    error === undefined
      ? capResult(redactValue(data, redact))
      : JSON.stringify({ untrusted: true, error: redactValue(error, (text) => cut(redact(text))) })
  await services.recordToolCalls([
    {
      caller: run.caller,
      requestId: run.requestId,
      channel: run.channel ?? 'agent',
      tool: tool.name,
      chatId: run.chatId,
      outcome: error === undefined ? 'done' : isRefusal(error) ? 'refused' : 'failed',
      code: error?.code,
      subject: input.subject,
    },
  ])
  return {
    ok: error === undefined,
    resultJson,
    argumentsJson,
    invalidArguments: input.invalidArguments ?? false,
    ...(pendingAction === undefined ? {} : { pendingAction }),
  }
}

function subjectOf(args: Readonly<Record<string, unknown>>): string | undefined {
  const subject = args['table'] ?? args['pipeline_id'] ?? args['definition_id']
  return typeof subject === 'string' ? subject : undefined
}

/** Shortens an error text, which may quote long arguments. */
function cut(text: string): string {
  return text.length > MAX_ERROR_TEXT ? `${text.slice(0, MAX_ERROR_TEXT).toWellFormed()}…` : text
}

const REFUSALS: ReadonlySet<string> = new Set(['INVALID_ARGUMENTS', 'FORBIDDEN', 'INVALID_REQUEST', 'INVALID_ARGUMENT'])

function isRefusal({ code }: ToolError): boolean {
  return REFUSALS.has(code)
}

function describeError(error: unknown, tool: AgentTool, { services, requestId }: ToolRun): ToolError {
  const logFailure = (): void => services.log.error('a tool failed', { request_id: requestId, tool: tool.name, error })
  if (error instanceof DomainError) {
    const { code, message, fields, cause } = error
    const shown = isIcebergError(cause) ? withoutPaths : (text: string) => text
    const errors = fields.slice(0, 10).map((field) => ({ ...field, message: shown(field.message) }))
    return { code, message: shown(message), ...(errors.length === 0 ? {} : { errors }) }
  }
  if (isIcebergError(error)) {
    const message = withoutPaths(error.message)
    if (message !== error.message) logFailure()
    return { code: error.code, message }
  }
  logFailure()
  return { code: 'INTERNAL', message: 'unexpected error; see the service log' }
}
