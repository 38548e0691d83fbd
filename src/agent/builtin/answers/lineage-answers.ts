import { type Ability, callsTool, type SeenCall } from '../ability.ts'
import { readTable } from '../names/table-finder.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, duration, problem, quoted } from '../text.ts'

function describeLineage({ data, error, args }: SeenCall): string {
  const table = args.at('table').text()
  if (error !== undefined) return `I cannot read the lineage of ${quoted(table)}: ${problem(error)}`
  const flows = data
    .at('nodes')
    .list()
    .filter((node) => node.at('kind').text() !== 'table')
  if (flows.length === 0) return `No pipeline and no version reads or writes ${quoted(table)}.`
  const partly = data.at('truncated').isTrue ? ' There are more; the page of the table shows them.' : ''
  const edges = data.at('edges').list()
  const lines = flows.map((flow) => describeFlow(flow, edges))
  return `Lineage of ${quoted(table)}:\n\n${bullets(lines, 20)}${partly}`
}

function describeFlow(flow: JsonView, edges: readonly JsonView[]): string {
  const tables = (name: string): string => flow.at(name).texts().map(quoted).join(', ') || 'no table'
  const id = flow.at('id').text()
  const lag = edges
    .filter((edge) => edge.at('to').text() === id && edge.at('lag').exists)
    .map((edge) => edge.at('lag').at('seconds').number())
  const behind = lag.length === 0 ? '' : `, ${duration(Math.max(...lag) * 1000)} behind`
  const what =
    flow.at('kind').text() === 'pipeline'
      ? `${quoted(flow.at('pipeline_id').text())} is ${flow.at('state').text()}${behind}`
      : `${quoted(flow.at('definition_name').text())} version ${flow.at('version').text()} (${flow.at('environment').text()}) is not running`
  return `${tables('source_tables')} to ${tables('sink_tables')}: ${what}.`
}

/** Answers about lineage, by tool. */
export const lineageAbilities: Readonly<Record<string, Ability>> = {
  table_lineage: callsTool({
    tool: 'table_lineage',
    reads: [
      readTable,
      ({ tokens }) => {
        const has = (...words: readonly string[]) =>
          tokens.some(({ lower }) => words.includes(lower.replace(/\W+$/, '')))
        if (has('upstream', 'write', 'writes', 'from')) return { args: { direction: 'upstream' } }
        return { args: has('downstream', 'read', 'reads', 'depends', 'depend') ? { direction: 'downstream' } : {} }
      },
    ],
    describe: describeLineage,
  }),
}
