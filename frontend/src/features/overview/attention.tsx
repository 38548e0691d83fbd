import { Button, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { OPERATIONS } from '../../../../src/domain/tables/operations.ts'
import { useCan } from '../../api/session.ts'
import type { HealthIndex, IndexedTable } from '../../api/types.ts'
import { ScoreBar } from '../../components/status/score.tsx'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { operations } from '../../strings/everywhere/common.ts'
import { overview } from '../../strings/overview.ts'
import { tables } from '../../strings/tables.ts'
import { isActionKind } from '../tables/actions/action-specs.ts'
import { inCatalog } from './in-catalog.ts'
import classes from './overview.module.css'
import { needsAttention, reasonsOf } from './reasons.ts'

const words = overview.attention

interface AttentionProps {
  readonly index: HealthIndex
  /** The catalog whose tables are counted; undefined: all catalogs. */
  readonly catalog: string | undefined
}

/** The worst tables: why, and what to do about each. */
export function Attention({ index, catalog }: AttentionProps) {
  const worst = index.tables.filter(needsAttention)
  const { bands, totals } = index
  const count = bands.poor + bands.fair + bands.unknown
  return (
    <section className={classes.card} aria-labelledby="overview-attention">
      <Title order={2} id="overview-attention">
        {words.title}
      </Title>
      {worst.length === 0 && (
        <p>
          {totals.tables === bands.good ? words.noneOf(formatPlural(bands.good, 'table is', 'tables are')) : words.none}
        </p>
      )}
      <ul className={classes.worst}>
        {worst.map((table) => (
          <AttentionRow key={table.table} table={table} />
        ))}
      </ul>
      {count > worst.length && (
        <Link to="/tables" search={{ sort: 'score', ...inCatalog(catalog) }}>
          {words.more(formatPlural(count, 'table'))}
        </Link>
      )}
    </section>
  )
}

function AttentionRow({ table }: { readonly table: IndexedTable }) {
  return (
    <li>
      <div className={classes.worstName}>
        <Link to="/tables/$table" params={{ table: table.table }}>
          {table.table}
        </Link>
        <span className={classes.dim}>{reasonsOf(table)}</span>
      </div>
      {table.score === null ? (
        <span className={classes.bad}>{tables.unreadable}</span>
      ) : (
        <ScoreBar score={table.score} />
      )}
      <span className={classes.worstAction}>
        <PreviewLink table={table} />
      </span>
    </li>
  )
}

/** A link to the preview of the first recommended operation that the caller may run. */
function PreviewLink({ table: { table, recommended } }: { readonly table: IndexedTable }) {
  const kind = recommended.find((name) => isActionKind(name))
  const allowed = useCan(kind === undefined ? 'LeadDataEngineer' : OPERATIONS[kind].request.minRole)
  if (kind === undefined || !allowed) return null
  const noun = operations.nouns[kind] ?? kind
  return (
    <Button
      variant="default"
      size="compact-xs"
      aria-label={words.previewOf(noun, table)}
      renderRoot={(props) => (
        <Link {...props} to="/tables/$table" params={{ table }} search={{ action: kind, recommended: '1' }} />
      )}
    >
      {words.preview(noun)}
    </Button>
  )
}
