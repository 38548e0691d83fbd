import { Link } from '@tanstack/react-router'
import { Fragment, type KeyboardEvent } from 'react'
import type { AuditEntry } from '../../../api/types.ts'
import { CodeBlock } from '../../../components/text/code-block.tsx'
import { Copyable } from '../../../components/text/copyable.tsx'
import { ChevronDownIcon, ChevronRightIcon } from '../../../components/icons.tsx'
import { StatusDot, type StatusTone } from '../../../components/status/status-dot.tsx'
import { useZone } from '../../../time/time-settings.ts'
import { formatTime } from '../../../time/zone.ts'
import { auditStrings as strings } from '../../../strings/operations.ts'
import { roleName } from '../../../strings/everywhere/shell.ts'
import { objectName, objectPage } from '../object-link.ts'
import classes from './audit.module.css'

const TONES: Readonly<Record<AuditEntry['outcome'], StatusTone>> = {
  done: 'ok',
  refused: 'warn',
  failed: 'bad',
  begun: 'active',
}

interface AuditEntryRowProps {
  readonly entry: AuditEntry
  readonly isOpen: boolean
  /** Whether the Tab key reaches it. */
  readonly isFocusable: boolean
  readonly onKeyDown: (event: KeyboardEvent) => void
  readonly onToggle: () => void
}

/** An expandable entry of the audit log. */
export function AuditEntryRow({ entry, isOpen, isFocusable, onKeyDown, onToggle }: AuditEntryRowProps) {
  const id = `audit-${entry.seq}`
  const zone = useZone()
  return (
    <>
      <button
        type="button"
        className={classes.row}
        aria-expanded={isOpen}
        aria-controls={id}
        tabIndex={isFocusable ? 0 : -1}
        onKeyDown={onKeyDown}
        onClick={onToggle}
      >
        <span data-column="at">
          {isOpen ? <ChevronDownIcon size={12} /> : <ChevronRightIcon size={12} />}
          <time dateTime={entry.at}>{formatTime(entry.at, zone)}</time>
        </span>
        <span data-column="actor">{actorOf(entry)}</span>
        <span data-column="action">{entry.action}</span>
        <span data-column="object" title={entry.object_id ?? undefined}>
          {objectName(entry)}
        </span>
        <span data-column="outcome">
          <StatusDot tone={TONES[entry.outcome]} label={strings.outcomes[entry.outcome]} />
        </span>
        {entry.role !== null && <span data-column="role">{roleName(entry.role)}</span>}
        <span data-column="channel">{strings.channels[entry.channel]}</span>
      </button>
      <div id={id} className={classes.details} hidden={!isOpen}>
        {isOpen ? <EntryDetails entry={entry} /> : undefined}
      </div>
    </>
  )
}

function actorOf({ actor, channel }: AuditEntry): string {
  return actor ?? (channel === 'system' ? strings.service : strings.nobody)
}

function EntryDetails({ entry }: { readonly entry: AuditEntry }) {
  const { details, request_id: requestId, actor, object_id: objectId } = entry
  const table = typeof details['table'] === 'string' ? details['table'] : undefined
  const facts = [
    [strings.entry.number, String(entry.seq)],
    [strings.entry.role, entry.role ?? strings.entry.none],
    [strings.entry.objectType, entry.object_type],
    [
      strings.entry.objectId,
      objectId === null ? strings.entry.none : <Copyable key="c" text={objectId} what={strings.entry.objectId} />,
    ],
    [
      strings.entry.request,
      requestId === null ? strings.entry.none : <Copyable key="c" text={requestId} what={strings.entry.request} />,
    ],
    [strings.entry.hash, <Copyable key="c" text={entry.hash} what={strings.entry.hash} />],
  ] as const
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
      {Object.keys(details).length === 0 ? (
        <p className={classes.dimmed}>{strings.entry.noDetails}</p>
      ) : (
        <CodeBlock code={JSON.stringify(details, null, 2)} label={strings.entry.details} />
      )}
      <div className={classes.links}>
        <ObjectLink entry={entry} />
        {actor === null ? undefined : <FilterLink search={{ actor }}>{strings.entry.sameActor}</FilterLink>}
        {objectId === null ? undefined : (
          <FilterLink search={{ object: objectId }}>{strings.entry.sameObject}</FilterLink>
        )}
        {table === undefined ? undefined : (
          <FilterLink search={{ object: table }}>{strings.entry.sameTable(table)}</FilterLink>
        )}
      </div>
    </>
  )
}

function ObjectLink({ entry }: { readonly entry: AuditEntry }) {
  const page = objectPage(entry)
  if (page === undefined) return undefined
  const { to, search } = page
  return (
    <Link to={to} search={(search ?? {}) as never}>
      {strings.entry.open(strings.objects[entry.object_type] ?? entry.object_type)}
    </Link>
  )
}

interface FilterLinkProps {
  readonly search: Readonly<Record<string, string>>
  readonly children: string
}

function FilterLink({ search, children }: FilterLinkProps) {
  return (
    <Link to="/audit" search={search as never}>
      {children}
    </Link>
  )
}
