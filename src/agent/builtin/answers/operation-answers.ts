import { plural } from '../../../lib/text.ts'
import { type Ability, callsTool, type Reader, type SeenCall } from '../ability.ts'
import { readNamedTable } from '../names/table-finder.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, duration, moment, problem, quoted } from '../text.ts'

const readFailed: Reader = (question) => ({ args: question.has('fail', 'problem') ? { state: 'failed' } : {} })

function describeOperations({ data, error, truncated, args }: SeenCall): string {
  if (error !== undefined) return `I cannot read the operations: ${problem(error)}`
  const operations = data.at('operations').list()
  const what = `${args.at('state').exists ? 'failed ' : ''}operation`
  const where = args.at('table').exists ? ` on ${quoted(args.at('table').text())}` : ''
  if (operations.length === 0) return `There are no ${what}s${where} in the ledger.`
  const head = `${truncated ? 'The newest' : 'All'} ${plural(operations.length, what)}${where}, newest first:`
  return `${head}\n\n${bullets(operations.map(describeOperation), 15)}`
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

/** Answers about the operations ledger, by tool. */
export const operationAbilities: Readonly<Record<string, Ability>> = {
  list_operations: callsTool({
    tool: 'list_operations',
    reads: [readNamedTable, readFailed],
    describe: describeOperations,
  }),
}
