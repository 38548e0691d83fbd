import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Operation, TableHealth, TableOverview } from '../../../api/types.ts'
import { Copyable } from '../../../components/text/copyable.tsx'
import { Figure, FigureRow } from '../../../components/status/figure.tsx'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { ScoreRing } from '../../../components/status/score.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { StatusDot, type StatusTone } from '../../../components/status/status-dot.tsx'
import { formatBytes, formatCount } from '../../../strings/everywhere/units.ts'
import { common, operations } from '../../../strings/everywhere/common.ts'
import { snapshots, table as words } from '../../../strings/tables.ts'
import { healthQuery, overviewQuery, schemaQuery, tableOperationsQuery } from '../api.ts'
import { UsedBy } from '../../lineage/used-by.tsx'
import { AccessSection } from '../access-section.tsx'
import { ReadersSection } from '../readers-section.tsx'
import { describePartitioning, describeSortOrder } from './field-text.ts'
import classes from './overview-tab.module.css'
import { RecommendedActions } from './health/recommended-actions.tsx'
import { PolicySection } from './policy-section.tsx'
import type { TabProps } from './tab-props.ts'

/** A summary of a table: health, recommended actions, and its parts. */
export function OverviewTab({ table, onAction }: TabProps) {
  const overview = useQuery(overviewQuery(table))
  const health = useQuery(healthQuery(table))
  return (
    <div className={classes.grid}>
      <div className={classes.main}>
        {health.isPending && <Loading lines={8} />}
        {health.isError && <ErrorState error={health.error} onRetry={() => void health.refetch()} />}
        {health.data && (
          <>
            <Verdict health={health.data} />
            <Figures health={health.data} />
            {health.data.actions.length > 0 && <RecommendedActions health={health.data} onAction={onAction} />}
          </>
        )}
      </div>
      <div className={classes.main}>
        {overview.isPending && <Loading lines={8} />}
        {overview.data && <Facts overview={overview.data} />}
        <UsedBy table={table} />
        <ReadersSection table={table} />
        <AccessSection table={table} />
        <PolicySection table={table} />
        <LatestOperations table={table} />
      </div>
    </div>
  )
}

function Verdict({ health }: { readonly health: TableHealth }) {
  return (
    <div className={classes.verdict}>
      <ScoreRing score={health.score} />
      <p>{health.recommendation}</p>
    </div>
  )
}

function Figures({ health }: { readonly health: TableHealth }) {
  const { figures } = words
  const { position, equality, deletion_vectors: vectors } = health.delete_files
  const small = figures.small(formatCount(health.small_file_count), formatBytes(health.small_file_threshold_bytes))
  const deletes = figures.deletes(formatCount(position), formatCount(equality), formatCount(vectors))
  return (
    <FigureRow>
      <Figure
        label={figures.rows}
        value={formatCount(health.record_count)}
        hint={health.delete_file_count > 0 ? figures.withDeleted : undefined}
      />
      <Figure label={figures.size} value={formatBytes(health.total_size_bytes)} />
      <Figure
        label={figures.dataFiles}
        value={formatCount(health.data_file_count)}
        hint={health.small_file_count > 0 ? small : undefined}
      />
      <Figure label={figures.averageFile} value={formatBytes(health.avg_file_size_bytes)} />
      <Figure
        label={figures.deleteFiles}
        value={formatCount(health.delete_file_count)}
        hint={health.delete_file_count > 0 ? deletes : undefined}
      />
      <Figure label={figures.partitions} value={formatCount(health.partition_count)} />
      <Figure label={figures.snapshots} value={formatCount(health.snapshot_count)} />
      <Figure label={figures.manifests} value={formatCount(health.manifest_count)} />
    </FigureRow>
  )
}

function Facts({ overview }: { readonly overview: TableOverview }) {
  const schema = useQuery(schemaQuery(overview.table))
  const columns = schema.data?.columns ?? []
  const partitioning = describePartitioning(overview.partition_spec.fields, columns)
  const order = describeSortOrder(overview.sort_order.fields, columns)
  const { current_snapshot_id: current } = overview
  return (
    <section className={classes.section}>
      <Title order={2}>{words.facts}</Title>
      <dl className={classes.facts}>
        <Fact label={words.changed}>
          <RelativeTime at={overview.last_updated_at} />
        </Fact>
        <Fact label={words.partitioning}>{partitioning === '' ? words.unpartitioned : partitioning}</Fact>
        <Fact label={words.sortOrder}>{order === '' ? words.unsorted : order}</Fact>
        <Fact label={words.formatVersion}>{overview.format_version}</Fact>
        <Fact label={words.currentSnapshot}>
          {current === null ? common.none : <Copyable text={current} what={snapshots.id} />}
        </Fact>
        <Fact label={words.location}>
          <Copyable text={overview.location} what={words.location} />
        </Fact>
        <Fact label={words.metadata}>
          <Copyable text={overview.metadata_location} what={words.metadata} />
        </Fact>
        <Fact label={words.uuid}>
          <Copyable text={overview.uuid} what={words.uuid} />
        </Fact>
      </dl>
    </section>
  )
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  )
}

const TONES: Readonly<Record<Operation['state'], StatusTone>> = {
  running: 'active',
  succeeded: 'ok',
  failed: 'bad',
  cancelled: 'idle',
  unknown: 'warn',
}

function LatestOperations({ table }: { readonly table: string }) {
  const { data } = useQuery(tableOperationsQuery(table))
  if (data === undefined) return null
  return (
    <section className={classes.section}>
      <Title order={2}>{words.recentOperations}</Title>
      {data.operations.length === 0 && <span className={classes.dim}>{words.noOperations}</span>}
      <ul className={classes.operations}>
        {data.operations.map((operation) => (
          <li key={operation.id}>
            <Link to="/operations/$id" params={{ id: operation.id }}>
              {operations.names[operation.operation] ?? operation.operation}
            </Link>
            <StatusDot tone={TONES[operation.state]} label={operations.states[operation.state]} />
            <span className={classes.dim}>
              <RelativeTime at={operation.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
