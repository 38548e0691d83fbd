import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { BulkKind } from '../../../../../src/domain/tables/operations.ts'
import { StatusDot } from '../../../components/status/status-dot.tsx'
import { bulk as words } from '../../../strings/bulk.ts'
import { operationStrings } from '../../../strings/operations.ts'
import { tables } from '../../../strings/tables.ts'
import { outcomeOf, STATE_TONES } from '../../operations/operation-words.ts'
import type { BulkItem } from './bulk-run.ts'
import { describePlan, sumOfPlans } from './bulk-words.ts'
import classes from '../../../components/selection/selection.module.css'

interface BulkListProps {
  readonly kind: BulkKind
  readonly items: readonly BulkItem[]
  /** Whether the plan has been applied. */
  readonly applied: boolean
}

/** The tables of a plan, each with its preview or with what became of it. */
export function BulkList({ kind, items, applied }: BulkListProps) {
  const title = applied ? words.resultTitle : words.listTitle
  const planned = items.filter(({ step }) => step === 'planned').length
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={classes.scroll} role="region" aria-label={title} tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{tables.columns.table}</th>
            <th scope="col">{title}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.table}>
              <th scope="row">{item.table}</th>
              <td>{itemText(kind, item)}</td>
            </tr>
          ))}
        </tbody>
        {!applied && planned > 1 && (
          <tfoot>
            <tr>
              <th scope="row">{words.total}</th>
              <td>{describePlan(kind, sumOfPlans(kind, items))}</td>
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  )
}

function itemText(kind: BulkKind, item: BulkItem): ReactNode {
  switch (item.step) {
    case 'planning':
      return <span className={classes.dim}>{words.waiting}</span>
    case 'nothing':
      return <span className={classes.dim}>{words.nothing}</span>
    case 'planned':
      return describePlan(kind, item.details)
    case 'refused':
      return <span className={classes.bad}>{item.reason}</span>
    case 'starting':
      return <span className={classes.dim}>{words.starting}</span>
    case 'started':
      return <StartedText item={item} />
  }
}

function StartedText({ item }: { readonly item: Extract<BulkItem, { step: 'started' }> }) {
  const { operation, operationId } = item
  const state = operation?.state ?? 'running'
  return (
    <>
      <Link to="/operations/$id" params={{ id: operationId }}>
        <StatusDot tone={STATE_TONES[state]} label={operationStrings.states[state]} />
      </Link>{' '}
      {operation && outcomeOf(operation)}
    </>
  )
}
