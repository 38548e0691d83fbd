import type { z } from 'zod'
import type { lineage } from '../../../schemas/lineage.ts'
import { queryOf } from '../../api/api-command.ts'
import { endpointOf } from '../../endpoint.ts'
import { fieldOptions } from '../../api/fields.ts'
import type { Command } from '../../command.ts'
import { durationText, plainText } from '../../text.ts'
import { JSON_OPTION, showRows } from '../../show.ts'

type Lineage = z.infer<typeof lineage>
type Flow = Extract<Lineage['nodes'][number], { source_tables: unknown }>

const { table: _, ...options } = endpointOf('getLineage').query

/** Shows the pipelines and versions around a table, or all of them. */
export const lineageCommand: Command = {
  summary: 'list the pipelines and versions that read or write a table, or all of them',
  endpoints: ['getLineage'],
  names: ['[TABLE]'],
  options: { ...fieldOptions(options), ...JSON_OPTION },
  examples: [
    'lockhouse tables lineage demo.orders',
    'lockhouse tables lineage demo.orders --direction upstream --json',
  ],
  async run(call) {
    const [table] = call.names
    const query = { ...queryOf(call, { ...endpointOf('getLineage'), query: options }), table }
    const answer = await call.api.get<Lineage>('/api/lineage', query)
    const lags = new Map<string, number>()
    for (const { to, lag } of answer.edges) {
      if (lag !== null) lags.set(to, Math.max(lag.seconds, lags.get(to) ?? 0))
    }
    showRows(call, answer, {
      rows: flowsOf(answer),
      none: 'no pipeline and no version reads or writes it',
      columns: [
        { header: 'FROM', cell: ({ source_tables: tables }) => tables.join(', ') },
        { header: 'BY', cell: nameOf },
        { header: 'STATE', cell: (flow) => (flow.kind === 'pipeline' ? flow.state : 'not running') },
        { header: 'LAG', cell: ({ id }) => lagText(lags.get(id)) },
        { header: 'TO', cell: ({ sink_tables: tables }) => tables.join(', ') },
        { header: 'ENVIRONMENT', cell: ({ environment }) => environment },
      ],
    })
    if (answer.truncated) call.terminal.note('there are more: use a higher --limit')
    if (answer.similar_tables.length > 0)
      call.terminal.note(plainText(`names that differ only in case: ${answer.similar_tables.join(', ')}`))
  },
}

/** Pipelines, and versions that no pipeline runs. */
function flowsOf({ nodes, edges }: Lineage): readonly Flow[] {
  const running = new Set(edges.filter(({ kind }) => kind === 'runs').map(({ from }) => from))
  return nodes.filter(
    (node): node is Flow => node.kind === 'pipeline' || (node.kind === 'version' && !running.has(node.id)),
  )
}

function nameOf(flow: Flow): string {
  return flow.kind === 'pipeline' ? flow.pipeline_id : `${flow.definition_name} v${flow.version}`
}

function lagText(seconds: number | undefined): string | null {
  return seconds === undefined ? null : durationText(seconds * 1000)
}
