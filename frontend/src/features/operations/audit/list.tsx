import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import type { Page } from '../../../api/paged-list.ts'
import { readAllPages } from '../../../api/read-all.ts'
import type { AuditEntry } from '../../../api/types.ts'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { auditStrings as strings } from '../../../strings/operations.ts'
import { ListMenu } from '../../../components/table/list/list-menu.tsx'
import { auditQuery } from './api.ts'
import { EXPORTED } from './exported.ts'
import { AuditEntryRow } from './entry-row.tsx'
import type { AuditSearch } from './search.ts'
import { useRowFocus } from '../use-row-focus.ts'
import classes from './audit.module.css'

const ROW_PX = 33
const FETCH_BEFORE_END = 30

interface AuditListProps {
  readonly search: AuditSearch
  /** Number of the entry that is unfolded, as the address has it. */
  readonly open: string | undefined
  readonly onOpen: (entry: string | undefined) => void
  readonly onClear: (() => void) | undefined
}

/** The entries that fit the filters; older ones are fetched as the end comes near. */
export function AuditList({ search, open, onOpen, onClear }: AuditListProps) {
  const query = auditQuery(search)
  const list = useInfiniteQuery(query)
  const entries = useMemo(() => list.data?.pages.flatMap(entriesOf) ?? [], [list.data])
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending) return <Loading />
  if (entries.length === 0) return <NoEntries onClear={onClear} />
  const fetchMore = list.hasNextPage && !list.isFetchingNextPage ? () => void list.fetchNextPage() : undefined
  return (
    <>
      <ListMenu name="audit" columns={EXPORTED} read={() => readAllPages(query, entriesOf)} />
      <Entries entries={entries} open={open} onOpen={onOpen} hasMore={list.hasNextPage} fetchMore={fetchMore} />
    </>
  )
}

function NoEntries({ onClear }: { readonly onClear: (() => void) | undefined }) {
  const clear = onClear ? (
    <Button variant="default" onClick={onClear}>
      {strings.filters.clear}
    </Button>
  ) : undefined
  return <Empty title={strings.empty.title} detail={strings.empty.text} action={clear} />
}

const entriesOf = ({ items }: Page<AuditEntry>): readonly AuditEntry[] => items

const COLUMNS = ['at', 'actor', 'action', 'object', 'outcome', 'channel'] as const

function ColumnNames() {
  return (
    <div className={classes.head} aria-hidden="true">
      {COLUMNS.map((column) => (
        <span key={column} data-column={column}>
          {strings.columns[column]}
        </span>
      ))}
    </div>
  )
}

interface EntriesProps {
  readonly entries: readonly AuditEntry[]
  readonly open: string | undefined
  readonly onOpen: (entry: string | undefined) => void
  readonly hasMore: boolean
  readonly fetchMore: (() => void) | undefined
}

function Entries({ entries, open, onOpen, hasMore, fetchMore }: EntriesProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => entries[index]?.seq ?? index,
    estimateSize: () => ROW_PX,
    overscan: 12,
  })
  const rows = useRowFocus({
    count: entries.length,
    list: scroller,
    scrollTo: (index) => virtualizer.scrollToIndex(index),
  })
  const items = virtualizer.getVirtualItems()
  const isNearEnd = (items.at(-1)?.index ?? 0) >= entries.length - FETCH_BEFORE_END
  useEffect(() => {
    if (isNearEnd) fetchMore?.()
  }, [isNearEnd, fetchMore])
  const count = formatPlural(entries.length, strings.verify.entry, strings.verify.entries)
  return (
    <div className={classes.log}>
      <ColumnNames />
      <div ref={scroller} className={classes.scroll}>
        <ol className={classes.list} aria-label={strings.title} style={{ height: virtualizer.getTotalSize() }}>
          {items.map(({ index, key, start }) => {
            const entry = entries[index]
            if (!entry) return undefined
            const number = String(entry.seq)
            return (
              <li
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                aria-setsize={hasMore ? -1 : entries.length}
                aria-posinset={index + 1}
                style={{ transform: `translateY(${start}px)` }}
              >
                <AuditEntryRow
                  entry={entry}
                  isOpen={number === open}
                  isFocusable={index === rows.active}
                  onKeyDown={rows.onKeyDown}
                  onToggle={() => onOpen(number === open ? undefined : number)}
                />
              </li>
            )
          })}
        </ol>
      </div>
      <p className={classes.foot} role="status">
        {hasMore ? strings.shown(count) : strings.end(count)}
      </p>
    </div>
  )
}
