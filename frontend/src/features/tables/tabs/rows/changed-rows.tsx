import { Button, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangesAnswer, Snapshot, SnapshotList } from '../../../../api/types.ts'
import { downloadCsv } from '../../../../components/rows/csv.ts'
import { RowGrid } from '../../../../components/rows/row-grid.tsx'
import { ErrorState, Loading } from '../../../../components/status/states.tsx'
import { formatBytes, formatDuration } from '../../../../strings/everywhere/units.ts'
import { rowGrid, tableChanges as words } from '../../../../strings/query.ts'
import { useZone } from '../../../../time/time-settings.ts'
import { formatTime } from '../../../../time/zone.ts'
import { changesQuery, snapshotsQuery } from '../../api.ts'
import { type Comparison, formatComparison, parseComparison } from '../../search.ts'
import type { TabProps } from '../tab-props.ts'
import { usePaged } from '../use-paged.ts'
import { toChangeGrid } from './change-grid.ts'
import classes from '../schema-tab.module.css'

const LIMIT = 1000

const snapshotsOf = (page: SnapshotList): readonly Snapshot[] => page.snapshots

/** The rows that changed between two snapshots, which the address names. */
export function ChangedRows({ table, search, onSearch }: TabProps) {
  const comparison = parseComparison(search.compare ?? '')
  const query = useQuery(changesQuery(table, { ...comparison, where: search.q ?? '', limit: LIMIT }))
  const change = (part: Partial<Comparison>, q = search.q ?? ''): void =>
    onSearch({ compare: formatComparison({ ...comparison, ...part }), q })
  return (
    <>
      <ComparisonForm
        key={search.compare}
        table={table}
        comparison={comparison}
        where={search.q ?? ''}
        onChange={change}
        onClose={() => onSearch({ compare: '', q: '' })}
      />
      {query.isPending && <Loading lines={8} />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && <Shown table={table} answer={query.data} isFiltered={(search.q ?? '') !== ''} />}
    </>
  )
}

interface ComparisonFormProps {
  readonly table: string
  readonly comparison: Comparison
  readonly where: string
  readonly onChange: (part: Partial<Comparison>, where?: string) => void
  readonly onClose: () => void
}

function ComparisonForm({ table, comparison, where: applied, onChange, onClose }: ComparisonFormProps) {
  const [key, setKey] = useState(comparison.key)
  const [where, setWhere] = useState(applied)
  const snapshots = useSnapshotChoices(table)
  const choose = (part: Partial<Comparison>): void => onChange({ key: key.trim(), ...part }, where)
  return (
    <form
      className={classes.tools}
      onSubmit={(event) => {
        event.preventDefault()
        choose({})
      }}
    >
      <Select
        label={words.from}
        data={[{ value: '', label: words.parent }, ...snapshots]}
        value={comparison.from ?? ''}
        onChange={(from) => choose({ from: from === null || from === '' ? undefined : from })}
        allowDeselect={false}
        searchable
      />
      <Select
        label={words.to}
        data={[{ value: '', label: words.current }, ...snapshots]}
        value={comparison.to ?? ''}
        onChange={(to) => choose({ to: to === null || to === '' ? undefined : to })}
        allowDeselect={false}
        searchable
      />
      <TextInput
        label={words.key}
        title={words.keyHelp}
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
      />
      <TextInput
        label={words.filter}
        value={where}
        onChange={(event) => setWhere(event.currentTarget.value)}
        flex={1}
      />
      <Button type="submit" variant="default">
        {words.apply}
      </Button>
      <Button variant="subtle" onClick={onClose}>
        {words.close}
      </Button>
    </form>
  )
}

/** The newest snapshots of a table, as choices. */
function useSnapshotChoices(table: string) {
  const zone = useZone()
  const { items } = usePaged(snapshotsQuery(table), snapshotsOf)
  return items.map(({ snapshot_id: value, committed_at: at, operation }) => ({
    value,
    label: words.snapshot(formatTime(new Date(at), zone), operation, value),
  }))
}

interface ShownProps {
  readonly table: string
  readonly answer: ChangesAnswer
  readonly isFiltered: boolean
}

function Shown({ table, answer, isFiltered }: ShownProps) {
  const { rows, truncated, counts, snapshot_count: snapshots } = answer
  const { read_bytes: read, planned_bytes: all, duration_ms: ms } = answer
  const { kindOf, ...grid } = toChangeGrid(answer)
  return (
    <>
      <div className={classes.tools} role="status">
        {counts && (
          <strong>
            {words.counts(counts.insert, counts.delete, counts.update_after)} {words.snapshots(snapshots)}
          </strong>
        )}
        <span className={classes.dim}>
          {rows.length === 0 ? (isFiltered ? words.noMatch : words.none) : rowGrid.rows(rows.length, truncated)}{' '}
          {rowGrid.read(formatBytes(read), formatBytes(all), formatDuration(ms))}
        </span>
        {rows.length > 0 && (
          <Button variant="default" size="compact-sm" onClick={() => downloadCsv(answer, 'changes.csv')}>
            {words.export}
          </Button>
        )}
      </div>
      {rows.length > 0 && <RowGrid label={words.label(table)} answer={grid} kindOf={kindOf} />}
    </>
  )
}
