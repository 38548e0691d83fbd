import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ErrorState } from '../../../components/status/states.tsx'
import { restore as words } from '../../../strings/tables.ts'
import { useNow } from '../../../time/relative-time.tsx'
import { useZone } from '../../../time/time-settings.ts'
import { fromTimeInput } from '../../../time/zone.ts'
import { recoveryPointQuery } from '../api.ts'
import type { TabProps } from '../tabs/tab-props.ts'
import { describeRestore } from './restore-answer.ts'
import classes from './snapshots-tab.module.css'

/** A time, the state that the table had then, and a button that opens the rollback to it. */
export function RestoreToTime({ table, onAction }: Pick<TabProps, 'table' | 'onAction'>) {
  const zone = useZone()
  const now = useNow()
  const [text, setText] = useState('')
  const at = fromTimeInput(text, zone) ?? ''
  const isPast = at !== '' && Date.parse(at) <= now.getTime()
  const found = useQuery({ ...recoveryPointQuery(table, at), enabled: isPast })
  const answer = isPast && found.data ? describeRestore(found.data, zone) : undefined
  return (
    <div className={classes.restore}>
      <TextInput
        label={words.label(zone)}
        type="datetime-local"
        step={1}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Button
        variant="default"
        disabled={answer?.isRestorable !== true}
        onClick={() => onAction('rollback', { target: at })}
      >
        {words.submit}
      </Button>
      <p aria-live="polite">{at !== '' && !isPast ? words.future : answer?.text}</p>
      {isPast && found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
    </div>
  )
}
