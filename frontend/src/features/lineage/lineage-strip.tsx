import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lineageQuery } from '../../api/lineage.ts'
import { lineage as words } from '../../strings/lineage.ts'
import { FlowLine, TableLinks } from './flow-text.tsx'
import { aroundTable, type Flow } from './flows.ts'
import classes from './lineage.module.css'

/** Flows of one side that the strip shows. */
const SHOWN = 2

/** The neighbours of a table in one line: sources ▸ pipeline ▸ this table ▸ pipeline ▸ sinks. */
export function LineageStrip({ table }: { readonly table: string }) {
  const { data } = useQuery(lineageQuery({ table, depth: 1 }))
  // a line of its height, so that the page does not move when it comes
  if (data?.table !== table) return <span className={classes.strip} />
  const { writers, readers } = aroundTable(data, table)
  if (writers.length + readers.length === 0) return <span className={classes.strip}>{words.nothing}</span>
  return (
    <span role="group" aria-label={words.strip} className={classes.strip}>
      <Side flows={writers} isWriter table={table} />
      <strong>{words.thisTable}</strong>
      <Side flows={readers} isWriter={false} table={table} />
      <Link to="/lineage" search={{ table }}>
        {words.open}
      </Link>
    </span>
  )
}

interface SideProps {
  readonly flows: readonly Flow[]
  readonly isWriter: boolean
  readonly table: string
}

function Side({ flows, isWriter, table }: SideProps) {
  const arrow = <span aria-hidden="true">{words.arrow}</span>
  const rest = flows.length - SHOWN
  return (
    <>
      {!isWriter && flows.length > 0 && arrow}
      {flows.slice(0, SHOWN).map((flow) => (
        <span key={flow.node.id} className={classes.step}>
          {isWriter && <TableLinks tables={flow.sources} />}
          {isWriter && arrow}
          <FlowLine flow={flow} />
          {!isWriter && arrow}
          {!isWriter && <TableLinks tables={flow.sinks} />}
        </span>
      ))}
      {rest > 0 && (
        <Link to="/lineage" search={{ table }}>
          {words.more(rest)}
        </Link>
      )}
      {isWriter && flows.length > 0 && arrow}
    </>
  )
}
