import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { tablesQuery } from '../../../api/tables.ts'
import type { Version } from '../../../api/types.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { designerStrings } from '../../../strings/designer.ts'
import type { Validated } from './validation.ts'
import classes from '../designer.module.css'

const words = designerStrings.sinkTable

interface OfferProps {
  readonly version: Version
  readonly validated: Validated
  /** The graph has unsaved changes, so the table would not match it. */
  readonly isDirty: boolean
  readonly onMade: () => void
}

/** Offers to create the sink table if that is the only problem of a version. */
export function SinkTableOffer({ version, validated: { answer, environment }, isDirty, onMade }: OfferProps) {
  const [isAsking, setAsking] = useState(false)
  const client = useQueryClient()
  const make = useMutation({
    mutationFn: () =>
      api.post(
        `/api/pipeline-defs/${encodeURIComponent(version.definition_id)}/versions/${encodeURIComponent(version.id)}/sink-table`,
        {},
        { query: { environment } },
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: tablesQuery.queryKey }),
  })
  const { sink_table: table, sink_columns: columns, problems } = answer
  const isAllThatLacks = problems.every(
    ({ code, severity, message }) =>
      severity === 'warning' || (code === 'NO_SUCH_TABLE' && message.endsWith(` ${table}`)),
  )
  if (table === null || columns === null || answer.runnable || !isAllThatLacks) return null
  if (isDirty) return <p className={classes.hint}>{words.saveFirst}</p>
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
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
        onConfirm={() =>
          make.mutate(undefined, {
            onSuccess: () => {
              notifications.show({ message: words.done(table) })
              setAsking(false)
              onMade()
            },
          })
        }
      >
        <ul className={classes.sinkColumns}>
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
