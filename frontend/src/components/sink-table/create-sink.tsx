import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { RunEnvironment } from '../../../../src/domain/environments.ts'
import { api } from '../../api/client.ts'
import { tablesQuery } from '../../api/tables.ts'
import type { GraphValidation } from '../../api/types.ts'
import { sinkTableStrings as words } from '../../strings/sink-table.ts'
import { ConfirmDialog } from '../confirm-dialog.tsx'
import classes from './sink-table.module.css'

/** A saved version, and the environment whose parameters name its tables. */
export interface VersionPlace {
  readonly definitionId: string
  readonly versionId: string
  readonly environment: RunEnvironment
}

/** The path of a version in the API. */
export const versionPathOf = ({ definitionId, versionId }: VersionPlace): string =>
  `/api/pipeline-defs/${encodeURIComponent(definitionId)}/versions/${encodeURIComponent(versionId)}`

interface CreateSinkProps {
  readonly place: VersionPlace
  /** The validation of the version there. */
  readonly answer: GraphValidation
  /** The shown graph has unsaved changes, so that the table would not match it. */
  readonly isDirty?: boolean
  readonly onMade: () => void
}

/** Offers to create the sink table of a version when it does not exist, with the columns that the graph gives it. */
export function CreateSink({ place, answer, isDirty = false, onMade }: CreateSinkProps) {
  const { sink_table: table, sink_columns: columns, sink_exists: exists } = answer
  if (table === null || exists !== false) return null
  return (
    <div className={classes.offer}>
      <span>{words.missing(table)}</span>
      {isDirty && <span className={classes.hint}>{words.saveFirst}</span>}
      {!isDirty && columns !== null && !hasOtherErrors(answer) ? (
        <CreateButton place={place} table={table} columns={columns} onMade={onMade} />
      ) : undefined}
      {!isDirty && (columns === null || hasOtherErrors(answer)) ? (
        <span className={classes.hint}>{words.othersFirst}</span>
      ) : undefined}
    </div>
  )
}

/** Whether there are more errors than the one about the missing sink. */
function hasOtherErrors({ problems }: GraphValidation): boolean {
  const errors = problems.filter(({ severity }) => severity === 'error')
  return errors.length > 1
}

interface CreateButtonProps extends Pick<CreateSinkProps, 'place' | 'onMade'> {
  readonly table: string
  readonly columns: NonNullable<GraphValidation['sink_columns']>
}

function CreateButton({ place, table, columns, onMade }: CreateButtonProps) {
  const [isAsking, setAsking] = useState(false)
  const client = useQueryClient()
  const { environment } = place
  const make = useMutation({
    mutationFn: () => api.post(`${versionPathOf(place)}/sink-table`, {}, { query: { environment } }),
    onSuccess: () => {
      notifications.show({ message: words.done(table) })
      setAsking(false)
      onMade()
      return client.invalidateQueries({ queryKey: tablesQuery.queryKey })
    },
  })
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={() => setAsking(true)}>
        {words.action}
      </Button>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={words.title(table)}
        consequences={words.consequences}
        confirmLabel={words.action}
        busy={make.isPending}
        error={make.error}
        onConfirm={() => make.mutate()}
      >
        <ul className={classes.columns}>
          {columns.map(({ name, type }) => (
            <li key={name}>
              <code>{name}</code> <span className={classes.hint}>{type}</span>
            </li>
          ))}
        </ul>
      </ConfirmDialog>
    </>
  )
}
