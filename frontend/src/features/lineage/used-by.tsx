import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lineageQuery } from '../../api/lineage.ts'
import { Notice } from '../../components/status/notice.tsx'
import { lineage as words } from '../../strings/lineage.ts'
import { FlowLine, TableLinks } from './flow-text.tsx'
import { aroundTable, type Flow } from './flows.ts'
import classes from './lineage.module.css'

/** What writes a table and what reads it, as lists. */
export function UsedBy({ table }: { readonly table: string }) {
  const { data } = useQuery(lineageQuery({ table, depth: 1 }))
  if (data?.table !== table) return null
  const { writers, readers } = aroundTable(data, table)
  return (
    <>
      <FlowList title={words.writtenBy} flows={writers} none={words.noWriter} table={table} end="sources" />
      <FlowList title={words.readBy} flows={readers} none={words.noReader} table={table} end="sinks" />
      {data.similar_tables.length > 0 && <Notice tone="info">{words.similar(data.similar_tables.join(', '))}</Notice>}
    </>
  )
}

interface FlowListProps {
  readonly title: string
  readonly flows: readonly Flow[]
  readonly none: string
  readonly table: string
  /** The end of the flows that is not the table itself. */
  readonly end: 'sources' | 'sinks'
}

/** Flows that a list shows; the lineage page has all of them. */
const SHOWN = 20

function FlowList({ title, flows, none, table, end }: FlowListProps) {
  return (
    <section className={classes.section}>
      <Title order={2}>{title}</Title>
      {flows.length === 0 && <span className={classes.dim}>{none}</span>}
      <ul className={classes.flows}>
        {flows.slice(0, SHOWN).map((flow) => (
          <li key={flow.node.id}>
            <FlowLine flow={flow} />
            <span className={classes.tables}>
              <span aria-hidden="true">{end === 'sources' ? '◂' : words.arrow}</span> <TableLinks tables={flow[end]} />
            </span>
          </li>
        ))}
      </ul>
      {flows.length > SHOWN && (
        <Link to="/lineage" search={{ table, view: 'list' }}>
          {words.more(flows.length - SHOWN)}
        </Link>
      )}
    </section>
  )
}
