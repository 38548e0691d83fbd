import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Pipeline } from '../../api/types.ts'
import { Copyable } from '../../components/text/copyable.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { formatBytes, formatCount } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { startFromStrings } from '../../strings/pipelines/start-from.ts'
import { useZone } from '../../time/time-settings.ts'
import { formatTime } from '../../time/zone.ts'
import { usePipelineModes } from './modes.ts'
import classes from './pipelines.module.css'

const settings = words.detail.settings

/** The settings and IDs of a pipeline. */
export function SettingsTab({ pipeline }: { readonly pipeline: Pipeline }) {
  const { source_tables: sources, sink_table: sink } = pipeline
  return (
    <dl className={classes.facts}>
      <Fact label={sources.length === 1 ? words.detail.source : words.detail.sources}>
        {sources.map((table, at) => (
          <span key={table}>
            {at > 0 && ', '}
            <TableLink table={table} />
          </span>
        ))}
      </Fact>
      <Fact label={words.detail.sink}>
        <TableLink table={sink} />
      </Fact>
      {pipeline.definition_id !== null && (
        <Fact label={settings.version}>
          <Link
            to="/definitions/$id"
            params={{ id: pipeline.definition_id }}
            search={{ version: pipeline.version_id ?? undefined }}
          >
            {settings.versionLink}
          </Link>
        </Fact>
      )}
      <Fact label={settings.checkpoint}>
        <Copyable text={pipeline.checkpoint_location} what={settings.checkpoint} wrap />
      </Fact>
      <StartFacts pipeline={pipeline} />
      <Fact label={settings.trigger}>{pipeline.trigger_interval}</Fact>
      <Modes pipeline={pipeline} />
      <Fact label={settings.createSink}>{pipeline.create_sink_table ? settings.yes : settings.no}</Fact>
      <Fact label={settings.maxFiles}>{formatCount(pipeline.max_files_per_batch)}</Fact>
      <Fact label={settings.maxBytes}>{formatBytes(pipeline.max_bytes_per_batch)}</Fact>
      <Fact label={settings.engine}>{settings.engines[pipeline.engine]}</Fact>
      <Fact label={settings.startedBy}>{pipeline.created_by}</Fact>
      <Fact label={settings.created}>
        <RelativeTime at={pipeline.created_at} />
      </Fact>
      <Fact label={settings.started}>
        <RelativeTime at={pipeline.started_at} />
      </Fact>
      {pipeline.stopped_at !== null && (
        <Fact label={settings.stopped}>
          <RelativeTime at={pipeline.stopped_at} />
        </Fact>
      )}
      <Fact label={settings.id}>
        <Copyable text={pipeline.id} what={settings.id} />
      </Fact>
      <Fact label={settings.runId}>
        <Copyable text={pipeline.run_id} what={settings.runId} />
      </Fact>
      <Fact label={settings.queryId}>
        <Copyable text={pipeline.query_id} what={settings.queryId} />
      </Fact>
    </dl>
  )
}

/** Where the pipeline began to read, and where it wrote first. */
function StartFacts({ pipeline }: { readonly pipeline: Pipeline }) {
  const { from, into_branch: branch, last_progress: progress } = pipeline
  const texts = startFromStrings.settings
  return (
    <>
      <Fact label={texts.label}>
        <StartText from={from} />
      </Fact>
      {branch && (
        <Fact label={texts.branch}>
          {progress?.sink.branch === undefined ? texts.branchBefore(branch.name) : texts.branchNow(branch.name)}
        </Fact>
      )}
    </>
  )
}

/** What is read, how it is written, and what deletes do to a pipeline that reads appended rows. */
function Modes({ pipeline }: { readonly pipeline: Pipeline }) {
  const { read, write, key } = usePipelineModes(pipeline)
  return (
    <>
      {read && <Fact label={settings.read}>{read === 'mixed' ? settings.mixed : words.form.reads[read]}</Fact>}
      {write && <Fact label={settings.write}>{words.form.writes[write]}</Fact>}
      {key && <Fact label={settings.key}>{key.join(', ')}</Fact>}
      {pipeline.on_schema_change && (
        <Fact label={settings.newColumns}>{words.form.newColumnsDo[pipeline.on_schema_change]}</Fact>
      )}
      {read !== 'changes' && <Fact label={settings.onDelete}>{settings.onDeleteValues[pipeline.on_delete]}</Fact>}
    </>
  )
}

function StartText({ from }: Pick<Pipeline, 'from'>) {
  const zone = useZone()
  const texts = startFromStrings.settings
  if (from === null) return texts.unset
  if (typeof from === 'string') return texts[from]
  if ('snapshot_id' in from) return <Copyable text={from.snapshot_id} what={texts.snapshot(from.snapshot_id)} />
  return texts.time(formatTime(from.timestamp, zone))
}

function TableLink({ table }: { readonly table: string }) {
  return (
    <Link to="/tables/$table" params={{ table }}>
      {table}
    </Link>
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
