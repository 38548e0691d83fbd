import { ENVIRONMENTS } from '../../domain/environments.ts'
import { count, plural } from '../../lib/text.ts'
import type { JsonView } from './json-view.ts'
import { oneCall, type Skill } from './skill.ts'
import { bullets, duration, moment, problem, quoted } from './words.ts'

const APPROVALS = /\b(approvals?|approved|waits?|waiting|pending|to (be )?(approve|decide|review)d?|decisions?)\b/

/** Pending approval requests. */
const approvalSkill: Skill = {
  matches: ({ lower }) => APPROVALS.test(lower) && !/\bpipe-|\bsnapshot|\bcompact/.test(lower),
  next: (_, seen) =>
    oneCall({ tool: 'pending_approvals', args: {} }, seen, ({ data, error }) => {
      if (error?.at('code').text() === 'UNKNOWN_TOOL') {
        return 'Only the LeadDataEngineer role can see approval requests.'
      }
      if (error !== undefined) return `I cannot read the approval requests: ${problem(error)}`
      const total = data.at('count').number()
      if (total === 0) return 'Nothing is waiting for approval.'
      const head = `${plural(total, 'approval request')} ${total === 1 ? 'is' : 'are'} waiting for a decision:`
      return `${head}\n\n${bullets(data.at('requests').list().map(describeRequest))}`
    }),
}

function describeRequest(request: JsonView): string {
  const name = quoted(request.at('definition_name').text())
  const move = `${request.at('from_environment').text()} to ${request.at('to_environment').text()}`
  const who = `requested by ${quoted(request.at('requested_by').text())} on ${moment(request.at('requested_at').text())}`
  return `Version ${request.at('version').text()} of ${name}, from ${move}, ${who} (${request.at('id').text()})`
}

const OPERATIONS =
  /\b(happened|happening|operations?|lately|recent|recently|activity|log|was done|has been done|been done|who (compacted|expired|dropped|added|renamed|changed|ran)|ran|what ran|last (compaction|expiry|operation|maintenance))\b|\b(did|done)\b.*\b(today|yesterday|tonight|last night|this (morning|week|month))\b|\b(anything|something) (fail\w*|go wrong|went wrong|break|broke|happen)\b|\bwhen (was|were)\b.*\b(compacted|expired)\b/

/** Operations on tables. */
const operationSkill: Skill = {
  matches: ({ lower }) => OPERATIONS.test(lower),
  next({ lower, tables }, seen) {
    const [table] = tables
    const state = /\b(fail\w*|error\w*|wrong)\b/.test(lower) ? { state: 'failed' } : {}
    const args = { ...(table === undefined ? {} : { table }), ...state }
    return oneCall({ tool: 'list_operations', args }, seen, ({ data, error, truncated }) => {
      if (error !== undefined) return `I cannot read the operations: ${problem(error)}`
      const operations = data.at('operations').list()
      const what = `${'state' in state ? 'failed ' : ''}operation`
      const where = table === undefined ? '' : ` on ${quoted(table)}`
      if (operations.length === 0) return `There are no ${what}s${where} in the ledger.`
      const head = `${truncated ? 'The newest' : 'All'} ${plural(operations.length, what)}${where}, newest first:`
      return `${head}\n\n${bullets(operations.map(describeOperation), 15)}`
    })
  },
}

function describeOperation(operation: JsonView): string {
  const what = `${operation.at('operation').text()} of ${quoted(operation.at('table').text())}`
  const took = operation.at('duration_ms').exists ? ` in ${duration(operation.at('duration_ms').number())}` : ''
  const before = operation.at('score_before')
  const after = operation.at('score_after')
  const score = before.exists && after.exists ? `, score ${before.text()} → ${after.text()}` : ''
  const error = operation.at('error').exists ? `: ${problem(operation.at('error'))}` : ''
  const who = `by ${quoted(operation.at('requested_by').text())}`
  return `${moment(operation.at('created_at').text())}: ${what} ${who} ${operation.at('state').text()}${took}${score}${error}`
}

/** Pipeline definitions, all or those of one environment. */
const definitionSkill: Skill = {
  matches: ({ lower }) =>
    /\bdefinitions?\b/.test(lower) || (/\b(what|which|list|show)\b/.test(lower) && environmentIn(lower) !== undefined),
  next({ lower }, seen) {
    const environment = environmentIn(lower)
    const args = environment === undefined ? {} : { environment }
    return oneCall({ tool: 'list_definitions', args }, seen, ({ data, error, truncated }) => {
      if (error !== undefined) return `I cannot read the pipeline definitions: ${problem(error)}`
      const definitions = data.at('definitions').list()
      const where = environment === undefined ? '' : ` with a version in ${environment}`
      if (definitions.length === 0) return `There are no pipeline definitions${where}.`
      const head = `${truncated ? 'The newest ' : ''}${count(definitions.length)} pipeline definition${definitions.length === 1 ? '' : 's'}${where}:`
      const lines = definitions.map((one) => {
        const description = one.at('description').text()
        return `${quoted(one.at('name').text())} (${one.at('id').text()}), by ${quoted(one.at('created_by').text())}${description === '' ? '' : `: ${quoted(description)}`}`
      })
      return `${head}\n\n${bullets(lines)}`
    })
  },
}

function environmentIn(lower: string): string | undefined {
  return ENVIRONMENTS.find((environment) => new RegExp(`\\b${environment}\\b`).test(lower))
}

/** Skills about definitions, approvals and the ledger, most specific first. */
export const governanceSkills: readonly Skill[] = [approvalSkill, definitionSkill, operationSkill]
