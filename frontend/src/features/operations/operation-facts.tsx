import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import type { Operation } from '../../api/types.ts'
import { Copyable } from '../../components/copyable.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { formatBytes, formatDuration } from '../../components/units.ts'
import { operationStrings } from '../../strings/operations.ts'
import classes from './operations.module.css'

const strings = operationStrings.detail

interface OperationFactsProps {
  readonly operation: Operation
  /** Whether the reader may follow it into the audit log. */
  readonly hasAudit: boolean
}

/** Who asked, when, how long it took, and on which snapshots. */
export function OperationFacts({ operation, hasAudit }: OperationFactsProps) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    [strings.requestedBy, operation.requested_by],
    [strings.started, <RelativeTime key="at" at={operation.created_at} />],
    [strings.finished, <RelativeTime key="at" at={operation.finished_at} />],
    [strings.duration, operation.duration_ms === null ? strings.none : formatDuration(operation.duration_ms)],
    [strings.read, bytesOf(operation.bytes_read)],
    [strings.written, bytesOf(operation.bytes_written)],
    [strings.baseSnapshot, idOf(operation.base_snapshot_id, strings.snapshotId)],
    [strings.snapshot, idOf(operation.snapshot_id, strings.snapshotId)],
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
      {hasAudit ? (
        <Link to="/audit" search={{ object: operation.id } as never}>
          {strings.inAudit}
        </Link>
      ) : undefined}
    </>
  )
}

function bytesOf(bytes: number | null): string {
  return bytes === null ? strings.none : formatBytes(bytes)
}

function idOf(id: string | null, what: string): ReactNode {
  return id === null ? strings.none : <Copyable text={id} what={what} />
}
