import { ActionIcon, Tooltip } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { VersionSummary } from '../../../api/types.ts'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { DownloadIcon } from '../../../components/icons.tsx'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { formatCount } from '../../../strings/everywhere/units.ts'
import { definitionPageStrings, definitionStrings } from '../../../strings/pipelines/designer.ts'
import { downloadVersion } from './download-version.ts'
import classes from '../board.module.css'

const words = definitionPageStrings.versions

const LIST = { name: 'versions' }

interface VersionsProps {
  readonly definitionId: string
  /** Newest first. */
  readonly versions: readonly VersionSummary[]
}

/** All versions, each with what it changed and its document. */
export function VersionsTab({ definitionId, versions }: VersionsProps) {
  const navigate = useNavigate()
  const columns = useMemo(() => columnsOf(versions), [versions])
  return (
    <DataTable
      label={words.label}
      list={LIST}
      rows={versions}
      rowKey={({ id }) => id}
      columns={columns}
      onOpen={({ id }) =>
        void navigate({ to: '/definitions/$id', params: { id: definitionId }, search: { version: id } as never })
      }
    />
  )
}

function columnsOf(versions: readonly VersionSummary[]): readonly ColumnSpec<VersionSummary>[] {
  const byNumber = new Map(versions.map((version) => [version.version, version]))
  return [
    {
      id: 'version',
      header: words.columns.version,
      value: ({ version }) => version,
      width: '80px',
      cell: ({ id, definition_id: definitionId, version }) => (
        <Link to="/definitions/$id" params={{ id: definitionId }} search={{ version: id }} className={classes.name}>
          {definitionStrings.version(version)}
        </Link>
      ),
    },
    {
      id: 'environment',
      header: words.columns.environment,
      value: ({ environment }) => environment,
      width: 'minmax(96px, 1fr)',
      cell: ({ environment }) => definitionStrings.environments[environment],
    },
    countColumn('nodes', ({ node_count: count }) => count),
    countColumn('edges', ({ edge_count: count }) => count),
    {
      id: 'by',
      header: words.columns.by,
      value: ({ created_by: who }) => who,
      width: 'minmax(90px, 1fr)',
      cell: ({ created_by: who }) => <span>{who}</span>,
      belowOnPhone: true,
    },
    {
      id: 'made',
      header: words.columns.made,
      value: ({ created_at: at }) => at,
      width: '110px',
      cell: ({ created_at: at }) => <RelativeTime at={at} />,
      belowOnPhone: true,
    },
    {
      id: 'hash',
      header: words.columns.hash,
      value: ({ content_hash: hash }) => hash,
      width: '130px',
      cell: ({ content_hash: hash }) => (
        <code className={classes.hash} title={hash}>
          {hash.slice(0, 12)}
        </code>
      ),
      hideOnPhone: true,
    },
    {
      id: 'actions',
      header: words.columns.actions,
      value: null,
      width: '130px',
      cell: (version) => <RowActions version={version} before={byNumber.get(version.version - 1)} />,
    },
  ]
}

function countColumn(id: 'nodes' | 'edges', countOf: (version: VersionSummary) => number): ColumnSpec<VersionSummary> {
  return {
    id,
    header: words.columns[id],
    value: countOf,
    width: '70px',
    align: 'end',
    cell: (version) => formatCount(countOf(version)),
    hideOnPhone: true,
  }
}

interface RowActionsProps {
  readonly version: VersionSummary
  readonly before: VersionSummary | undefined
}

function RowActions({ version, before }: RowActionsProps) {
  const label = words.export(version.version)
  const save = (): void => {
    downloadVersion(version).catch((error: unknown) => notifications.show({ color: 'red', message: errorText(error) }))
  }
  return (
    <div className={classes.rowActions}>
      <Tooltip label={label}>
        <ActionIcon size={24} aria-label={label} onClick={save}>
          <DownloadIcon size={14} />
        </ActionIcon>
      </Tooltip>
      {before && (
        <Link
          to="/definitions/$id"
          params={{ id: version.definition_id }}
          search={{ version: version.id, compare: before.id }}
          aria-label={words.changesOf(version.version, before.version)}
        >
          {words.changes}
        </Link>
      )}
    </div>
  )
}
