import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import type { Operation } from '../../api/types.ts'
import { Copyable } from '../../components/text/copyable.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { formatBytes, formatDuration } from '../../strings/everywhere/units.ts'
import { operationStrings } from '../../strings/operations.ts'
import classes from './operations.module.css'

const strings = operationStrings.detail

interface OperationFactsProps {
  readonly operation: Operation
  /** Whether the reader may follow it into the audit log. */
  readonly hasAudit: boolean
}

/** Requester, times, duration and snapshots of an operation. */
export function OperationFacts({ operation, hasAudit }: OperationFactsProps) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    [strings.requestedBy, operation.requested_by],
    [strings.started, <RelativeTime key="at" at={operation.created_at} />],
    [strings.finished, <RelativeTime key="at" at={operation.finished_at} />],
    [strings.duration, operation.duration_ms === null ? strings.none : formatDuration(operation.duration_ms)],
    [strings.read, bytesOf(operation.bytes_read)],
    [strings.written, bytesOf(operation.bytes_written)],
    [strings.baseSnapshot, snapshotOf(operation.table, operation.base_snapshot_id)],
    [strings.snapshot, snapshotOf(operation.table, operation.snapshot_id)],
    [strings.id, idOf(operation.id, strings.id)],
    [strings.requestId, idOf(operation.request_id, strings.requestId)],
  ]
  return (
    <>
      <dl className={classes.facts}>
        {facts.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
      <p className={classes.links}>
        <Link to="/operations" search={{ table: operation.table } as never}>
          {strings.sameTable(operation.table)}
        </Link>
        {operation.group !== null && (
          <Link to="/operations" search={{ group: operation.group } as never}>
            {strings.sameGroup}
          </Link>
        )}
        {hasAudit ? (
          <Link to="/audit" search={{ object: operation.id } as never}>
            {strings.inAudit}
          </Link>
        ) : undefined}
      </p>
    </>
  )
}

function bytesOf(bytes: number | null): string {
  return bytes === null ? strings.none : formatBytes(bytes)
}

function snapshotOf(table: string, id: string | null): ReactNode {
  if (id === null) return strings.none
  return (
    <Link to="/tables/$table" params={{ table }} search={{ tab: 'snapshots' }}>
      {id}
    </Link>
  )
}

function idOf(id: string | null, what: string): ReactNode {
  return id === null ? strings.none : <Copyable text={id} what={what} />
}
