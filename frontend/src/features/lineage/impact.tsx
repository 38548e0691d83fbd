import { useQuery } from '@tanstack/react-query'
import { lineageQuery } from '../../api/lineage.ts'
import type { Lineage } from '../../api/types.ts'
import { Notice } from '../../components/status/notice.tsx'
import { Loading } from '../../components/status/states.tsx'
import { lineage as words } from '../../strings/lineage.ts'
import { FlowLine, TableLinks } from './flow-text.tsx'
import { byUrgency, type Flow, flowsOf } from './flows.ts'
import classes from './lineage.module.css'

const texts = words.impact

interface ImpactProps {
  readonly table: string
  /** The dotted path of the column that changes; undefined: the change is not about one. */
  readonly column: string | undefined
}

/** The pipelines and versions that a change of a table affects, with their state. */
export function Impact({ table, column }: ImpactProps) {
  const { data, isError, isPlaceholderData } = useQuery(
    lineageQuery({ table, depth: 1, columns: column !== undefined }),
  )
  if (isError) return <Notice tone="warn">{texts.failed}</Notice>
  if (data?.table !== table || isPlaceholderData) return <Loading lines={2} />
  const flows = byUrgency(flowsOf(data))
  return (
    <section className={classes.section} aria-label={texts.title}>
      <h3>{texts.title}</h3>
      {flows.length === 0 && <span className={classes.dim}>{texts.none}</span>}
      <ul className={classes.flows}>
        {flows.map((flow) => (
          <li key={flow.node.id}>
            <FlowLine flow={flow} />
            <span>{usesOf(flow, { table, column, answer: data }).join(', ')}</span>
            <span className={classes.tables}>
              <TableLinks tables={flow.sources} /> <span aria-hidden="true">{words.arrow}</span>{' '}
              <TableLinks tables={flow.sinks} />
            </span>
          </li>
        ))}
      </ul>
      {data.truncated && <span className={classes.dim}>{texts.truncated}</span>}
      {data.similar_tables.length > 0 && <Notice tone="warn">{words.similar(data.similar_tables.join(', '))}</Notice>}
    </section>
  )
}

/** A table, or one of its columns, and the answer that has the columns. */
interface Question {
  readonly table: string
  readonly column: string | undefined
  readonly answer: Pick<Lineage, 'edges'>
}

/** How a flow uses the table, or one of its columns, in words. */
export function usesOf({ node: { id } }: Flow, { table, column, answer }: Question): readonly string[] {
  const end = `table:${table}`
  return answer.edges.flatMap(({ kind, from, to, columns }) => {
    const isRead = kind === 'reads' && from === end && to === id
    if (!isRead && !(kind === 'writes' && from === id && to === end)) return []
    if (column === undefined) return [isRead ? texts.reads : texts.writes]
    if (columns === null) return [texts.unknownColumn(column)]
    if (!columns.some((name) => isWithin(column, name))) return [texts.notColumn(column)]
    return [isRead ? texts.readsColumn(column) : texts.writesColumn(column)]
  })
}

/** Whether a path is a column or a field inside of it; names are compared as queries do. */
function isWithin(path: string, column: string): boolean {
  const [inner, outer] = [path.toLowerCase(), column.toLowerCase()]
  return inner === outer || inner.startsWith(`${outer}.`)
}
