import type { OtherSyntax } from '../../../engines/sql-syntax.ts'

/** Why Spark cannot run a part of a graph with the same rows; the message says what, without a remedy. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** The refusal of syntax that has no translation. */
export function refuseSyntax({ what, isPerBatch }: OtherSyntax): Refusal {
  return new Refusal(isPerBatch ? perBatch(what) : `${what} is not translated for Spark`)
}

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Aggregates that are often used; others are refused without telling why. */
const AGGREGATES = names(
  'any_value arg_max arg_min array_agg avg bool_and bool_or count count_star first last list max max_by median min min_by ' +
    'mode stddev string_agg sum variance',
)
const VOLATILE = names(
  'current_date current_localtimestamp current_timestamp gen_random_uuid get_current_time get_current_timestamp now ' +
    'random today transaction_timestamp uuid uuidv4 uuidv7',
)

/** The refusal of a function or operator that is not on the list of those that are equal. */
export function refuseFunction(name: string): Refusal {
  if (AGGREGATES.has(name)) return new Refusal(perBatch(`the aggregate ${name === 'count_star' ? 'count' : name}()`))
  if (VOLATILE.has(name)) return new Refusal(`${name}() is different in each run`)
  const called = /^\w+$/.test(name) ? `${name}()` : `the operator ${name}`
  return new Refusal(`Spark may compute ${called} differently`)
}

function perBatch(what: string): string {
  return `${what} works on each batch here, but on the whole stream in Spark`
}
