import { Link } from '@tanstack/react-router'
import type { Pipeline } from '../../api/types.ts'
import { RelativeTime, useNow } from '../../time/relative-time.tsx'
import { formatDuration } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { formatLag, formatRate } from './figures.ts'
import { lastBatch } from './monitor/state.ts'
import { useLiveRow } from './monitor/store.ts'
import { currentRate, isLagKnown } from './pipeline-life.ts'
import { PipelineState } from './pipeline-state.tsx'
import { isIdle, rateOf } from './monitor/sample.ts'
import classes from './pipelines.module.css'
import { Sparkline } from '../../components/chart/sparkline.tsx'

/** Triggers that a sparkline shows. */
const SPARK_SAMPLES = 60

interface CellProps {
  readonly id: string
}

/** The name of a pipeline: its sources and its sink. */
export function nameOf({ source_tables: sources, sink_table: sink }: Pipeline): string {
  return `${sourcesOf(sources)} → ${sink}`
}

function sourcesOf(sources: readonly string[]): string {
  return sources.length > 2 ? words.list.sources(sources.length) : sources.join(', ')
}

/** Each cell subscribes to its pipeline, so that a message renders a few cells and not the list. */
export function StateCell({ id }: CellProps) {
  const row = useLiveRow(id)
  return row ? <PipelineState state={row.pipeline.state} /> : null
}

export function NameCell({ id }: CellProps) {
  const row = useLiveRow(id)
  if (!row) return null
  const { pipeline } = row
  return (
    <Link to="/pipelines/$id" params={{ id }} className={classes.name} title={nameOf(pipeline)}>
      <span>{sourcesOf(pipeline.source_tables)} →</span> <span>{pipeline.sink_table}</span>
    </Link>
  )
}

export function RateCell({ id }: CellProps) {
  const row = useLiveRow(id)
  const now = useNow()
  return <>{formatRate(row && currentRate(row.pipeline, row.samples.last, now.getTime()))}</>
}

export function LagCell({ id }: CellProps) {
  const row = useLiveRow(id)
  return <>{row && isLagKnown(row.pipeline) ? formatLag(row.samples.last) : words.none}</>
}

export function DurationCell({ id }: CellProps) {
  const batch = lastBatch(useLiveRow(id))
  return <>{batch ? formatDuration(batch.durationMs) : words.none}</>
}

export function TrendCell({ id }: CellProps) {
  const row = useLiveRow(id)
  if (!row || row.samples.length < 2) return <span className={classes.noSpark}>{words.none}</span>
  const rates: (number | null)[] = []
  for (let at = Math.max(0, row.samples.length - SPARK_SAMPLES); at < row.samples.length; at++) {
    const sample = row.samples.at(at)
    rates.push(sample === undefined || isIdle(sample) ? null : rateOf(sample))
  }
  const known = rates.filter((rate) => rate !== null)
  if (known.length === 0) return <span className={classes.noSpark}>{words.none}</span>
  const label = words.spark(row.pipeline.sink_table, formatRate(rates.at(-1)), formatRate(Math.max(...known)))
  return <Sparkline values={rates} label={label} />
}

export function TriggerCell({ id }: CellProps) {
  return <>{useLiveRow(id)?.pipeline.trigger_interval ?? words.none}</>
}

export function LastCell({ id }: CellProps) {
  const batch = lastBatch(useLiveRow(id))
  return batch ? <RelativeTime at={new Date(batch.atMs).toISOString()} /> : <>{words.list.never}</>
}
