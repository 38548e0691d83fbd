import { Button } from '@mantine/core'
import { useState } from 'react'
import type { RunEnvironment } from '../../../../src/domain/environments.ts'
import { api } from '../../api/client.ts'
import type { GraphValidation } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { sinkTableStrings as words } from '../../strings/pipelines/sink-table.ts'
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

/** Offers to create the tables of a version that do not exist, with the columns that the graph gives them. */
export function CreateSink({ place, answer, isDirty = false, onMade }: CreateSinkProps) {
  const { missing_tables: missing } = answer
  if (missing.length === 0) return null
  const tables = missing.flatMap(({ table, columns }) => (columns === null ? [] : [{ table, columns }]))
  const canCreate = tables.length === missing.length && !hasOtherErrors(answer)
  return (
    <div className={classes.offer}>
      <span>{words.missing(missing.map(({ table }) => table))}</span>
      {isDirty && <span className={classes.hint}>{words.saveFirst}</span>}
      {!isDirty && canCreate ? <CreateButton place={place} tables={tables} onMade={onMade} /> : undefined}
      {!isDirty && !canCreate ? <span className={classes.hint}>{words.othersFirst}</span> : undefined}
    </div>
  )
}

/** Whether there are other errors than those about missing tables. */
function hasOtherErrors({ problems, missing_tables: missing }: GraphValidation): boolean {
  const writers = new Set(missing.flatMap(({ node_ids: ids }) => ids))
  return problems.some(
    ({ severity, code, node_id: id }) => severity === 'error' && !(code === 'NO_SUCH_TABLE' && writers.has(id ?? '')),
  )
}

interface CreateButtonProps extends Pick<CreateSinkProps, 'place' | 'onMade'> {
  readonly tables: readonly {
    readonly table: string
    readonly columns: NonNullable<GraphValidation['sink_columns']>
  }[]
}

function CreateButton({ place, tables, onMade }: CreateButtonProps) {
  const names = tables.map(({ table }) => table)
  const [isAsking, setAsking] = useState(false)
  const { environment } = place
  const make = useAction({
    send: () => api.post(`${versionPathOf(place)}/sink-table`, {}, { query: { environment } }),
    changes: ['tables'],
    said: words.done(names),
    onDone: () => {
      setAsking(false)
      onMade()
    },
  })
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={() => setAsking(true)}>
        {words.action(names.length)}
      </Button>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={words.title(names)}
        consequences={words.consequences}
        confirmLabel={words.action(names.length)}
        action={make}
        onConfirm={() => make.mutate()}
      >
        {tables.map(({ table, columns }) => (
          <div key={table}>
            {tables.length > 1 && <strong>{table}</strong>}
            <ul className={classes.columns}>
              {columns.map(({ name, type }) => (
                <li key={name}>
                  <code>{name}</code> <span className={classes.hint}>{type}</span>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </ConfirmDialog>
    </>
  )
}
