import { useQuery } from '@tanstack/react-query'
import { type Certainty, type ChangedPart, findTableUse } from '../../../../src/domain/tables/table-use.ts'
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
            <FlowLine flow={flow} />{' '}
            <span className={classes.use}>{usesOf(flow, { table, column }, data).join(', ')}</span>
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

/** How a flow uses the table, or one of its columns, in words. */
export function usesOf({ node }: Flow, part: ChangedPart, { edges }: Pick<Lineage, 'edges'>): readonly string[] {
  const { reads, writes } = findTableUse(edges, node.id, part)
  return [...wordsOf('read', reads, part.column), ...wordsOf('write', writes, part.column)]
}

function wordsOf(verb: 'read' | 'write', certainty: Certainty | null, column: string | undefined): readonly string[] {
  if (certainty === null) return []
  if (column === undefined) return [verb === 'read' ? texts.reads : texts.writes]
  if (certainty === 'unknown') return [texts.unknownColumn(column)]
  if (certainty === 'no') return [texts.notColumn(column)]
  return [verb === 'read' ? texts.readsColumn(column) : texts.writesColumn(column)]
}
