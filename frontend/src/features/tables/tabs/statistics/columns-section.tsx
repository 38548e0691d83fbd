import { Button, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { SAMPLE_LIMITS } from '../../../../../../src/domain/tables/sample-limits.ts'
import type { TableStatistics } from '../../../../api/types.ts'
import { ErrorState, Loading } from '../../../../components/status/states.tsx'
import { Notice } from '../../../../components/status/notice.tsx'
import { DataTable } from '../../../../components/table/data-table.tsx'
import { findByName } from '../../../../components/text/find-by-name.ts'
import { formatDuration } from '../../../../strings/everywhere/units.ts'
import { statistics as words } from '../../../../strings/statistics.ts'
import { profileQuery, statisticsQuery } from '../../api.ts'
import { FilterField } from '../filter-field.tsx'
import type { TabProps } from '../tab-props.ts'
import { manifestColumns, sampleColumns } from './statistics-columns.tsx'
import classes from './statistics.module.css'

const LIST = { name: 'statistics' }
const MAX_HEIGHT = 560

/** The columns of a table, with the figures of the manifests or, once it is measured, of a sample. */
export function ColumnStatisticsSection({ table, search, onSearch }: TabProps) {
  const query = useQuery(statisticsQuery(table))
  const [isAsked, setAsked] = useState(false)
  const sample = useQuery({ ...profileQuery(table), enabled: isAsked })
  const statistics = sample.data ?? query.data
  const shown = useMemo(
    () => findByName(statistics?.columns ?? [], search.q ?? '', ({ path }) => path),
    [statistics, search.q],
  )
  if (query.isPending) return <Loading lines={8} />
  if (query.isError || statistics === undefined) {
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  }
  const { profile } = statistics
  const { data_file_count: files, record_count: rows, snapshot_id: current } = query.data
  return (
    <section className={classes.section}>
      <Title order={2}>{words.title}</Title>
      <p className={classes.dim}>{words.ofManifests(query.data.columns.length, rows, files)}</p>
      <SampleTools
        table={table}
        files={files}
        isMeasured={profile !== undefined}
        isMeasuring={sample.isFetching}
        onMeasure={() => (isAsked ? void sample.refetch() : setAsked(true))}
        onCancel={() => setAsked(false)}
      />
      {sample.isError && !sample.isFetching && (
        <ErrorState error={sample.error} onRetry={() => void sample.refetch()} />
      )}
      {profile && <SampleNotice profile={profile} hasChanged={profile.snapshot_id !== current} />}
      <FilterField label={words.filter} search={search} onSearch={onSearch} />
      {/* a new table, because rows on a phone have another height */}
      <DataTable
        key={profile === undefined ? 'manifests' : 'sample'}
        label={words.label(table)}
        list={LIST}
        rows={shown}
        rowKey={({ id }) => String(id)}
        columns={profile === undefined ? manifestColumns : sampleColumns(profile)}
        maxHeight={MAX_HEIGHT}
      />
    </section>
  )
}

interface SampleToolsProps {
  readonly table: string
  readonly files: number
  readonly isMeasured: boolean
  readonly isMeasuring: boolean
  readonly onMeasure: () => void
  readonly onCancel: () => void
}

function SampleTools({ table, files, isMeasured, isMeasuring, onMeasure, onCancel }: SampleToolsProps) {
  const client = useQueryClient()
  const cancel = (): void => {
    onCancel()
    void client.cancelQueries({ queryKey: profileQuery(table).queryKey })
  }
  if (files === 0) return <p className={classes.dim}>{words.nothingToRead}</p>
  return (
    <div className={classes.tools}>
      <Button variant="default" loading={isMeasuring} onClick={onMeasure}>
        {isMeasured ? words.again : words.measure}
      </Button>
      {isMeasuring && (
        <Button variant="subtle" onClick={cancel}>
          {words.cancel}
        </Button>
      )}
      <span className={classes.dim} role="status">
        {isMeasuring
          ? `${words.measuring} …`
          : words.willRead(files, Math.min(files, SAMPLE_LIMITS.files), SAMPLE_LIMITS)}
      </span>
    </div>
  )
}

interface SampleNoticeProps {
  readonly profile: NonNullable<TableStatistics['profile']>
  /** Whether the table has another snapshot now. */
  readonly hasChanged: boolean
}

function SampleNotice({ profile, hasChanged }: SampleNoticeProps) {
  const {
    sampled_rows: rows,
    total_rows: all,
    rule,
    is_complete: isComplete,
    duration_ms: ms,
    snapshot_id: id,
  } = profile
  return (
    <Notice tone={hasChanged ? 'warn' : 'info'} title={isComplete ? words.completeTitle : words.sampleTitle}>
      {isComplete ? words.complete(rows) : words.sample(rows, all, rule)} {words.took(formatDuration(ms), id)}
      {hasChanged && ` ${words.changed}`}
    </Notice>
  )
}
