import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useZone } from '../../../time/time-settings.ts'
import { fromTimeInput, toTimeInput } from '../../../time/zone.ts'
import { auditStrings } from '../../../strings/operations.ts'
import { type AuditSearch, readAuditSearch } from './search.ts'
import classes from './audit.module.css'

const strings = auditStrings.filters

interface AuditFiltersProps {
  readonly search: AuditSearch
  readonly onApply: (search: AuditSearch) => void
  readonly onClear: (() => void) | undefined
}

/** The filters of the audit log as a form; applied on submit. */
export function AuditFilters({ search, onApply, onClear }: AuditFiltersProps) {
  const [draft, setDraft] = useState<AuditSearch>(search)
  const zone = useZone()
  const set = (part: AuditSearch): void => setDraft((before) => ({ ...before, ...part }))
  const text = (name: 'actor' | 'object' | 'action') => ({
    value: draft[name] ?? '',
    onChange: (event: { readonly currentTarget: HTMLInputElement }) => set({ [name]: event.currentTarget.value }),
  })
  const time = (name: 'from' | 'to') => ({
    type: 'datetime-local',
    value: toTimeInput(draft[name], zone),
    onChange: (event: { readonly currentTarget: HTMLInputElement }) =>
      set({ [name]: fromTimeInput(event.currentTarget.value, zone) ?? '' }),
  })
  return (
    <form
      className={classes.filters}
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onApply(readAuditSearch({ ...draft }))
      }}
    >
      <TextInput label={strings.actor} placeholder={strings.actorPlaceholder} {...text('actor')} />
      <TextInput label={strings.object} placeholder={strings.objectPlaceholder} {...text('object')} />
      <TextInput label={strings.action} placeholder={strings.actionPlaceholder} {...text('action')} />
      <TextInput label={strings.from(zone)} {...time('from')} />
      <TextInput label={strings.to(zone)} {...time('to')} />
      <div className={classes.filterActions}>
        <Button type="submit" variant="default">
          {strings.apply}
        </Button>
        <Button variant="subtle" onClick={onClear} disabled={!onClear}>
          {strings.clear}
        </Button>
      </div>
    </form>
  )
}
